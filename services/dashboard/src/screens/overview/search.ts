/** What the address of the overview says. */
import { choice, only, type RawSearch } from "@/app/search-params";

/** How far back charts go. */
export const RANGES = ["15m", "1h", "6h", "24h", "7d", "30d"] as const;
export type Range = (typeof RANGES)[number];
export const DEFAULT_RANGE: Range = "15m";

export function overviewSearch(raw: RawSearch) {
  return only({ range: choice(raw, "range", RANGES) });
}
export type OverviewSearch = ReturnType<typeof overviewSearch>;
