/** What the address of the fleet says. */
import { choice, choices, only, type RawSearch, text } from "@/app/search-params";
import { SHOWN } from "@/lib/live/fleet";

export const SORTS = ["name", "trouble", "load"] as const;
export type Sort = (typeof SORTS)[number];

export function fleetSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    /** States, with commas. None: all. */
    show: choices(raw, "show", SHOWN),
    sort: choice(raw, "sort", SORTS),
    device: text(raw, "device"),
    pc: text(raw, "pc"),
  });
}
export type FleetSearch = ReturnType<typeof fleetSearch>;
