/** How far back the charts go, as the address says. */
import { useSearch } from "@tanstack/react-router";
import { DEFAULT_RANGE, type Range } from "./search";

export function useRange(): Range {
  return useSearch({ from: "/inside/" }).range ?? DEFAULT_RANGE;
}
