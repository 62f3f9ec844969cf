/** How long ago something was; the moment itself is shown on request. */
import type { ReactNode } from "react";
import { useFormat } from "./format";
import { useNow } from "./use-now";

const MOVE_EVERY_MS = 5_000;

export function Ago({ at }: { at: string }): ReactNode {
  const format = useFormat();
  const now = useNow(MOVE_EVERY_MS);
  return <span title={format.full(at)}>{format.ago(at, now)}</span>;
}
