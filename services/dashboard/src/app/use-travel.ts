/** The moment in the address: where to go in time, and back. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

/** Undefined: to the present. Each screen keeps all else that its address says. */
export function useTravel(): (asOf: string | undefined) => void {
  const navigate = useNavigate();
  return useCallback(
    (as_of) =>
      void navigate({
        to: ".",
        search: ((before: object) => ({ ...before, as_of })) as never,
        replace: true,
      }),
    [navigate],
  );
}
