/** Changes what the address of a screen says, and keeps the rest of it. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Place } from "./places";

/** Undefined takes a word out of the address. */
export type Change<Search> = (part: { [K in keyof Search]?: Search[K] | undefined }) => void;

export function useChange<Search>(path: Place["path"] | "/audit" | "/keys"): Change<Search> {
  const navigate = useNavigate({ from: path });
  return useCallback(
    (part) => void navigate({ search: ((before: object) => ({ ...before, ...part })) as never, replace: true }),
    [navigate],
  );
}
