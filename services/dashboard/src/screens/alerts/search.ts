/** What the address of the alerts says. */
import { flag, only, type RawSearch } from "@/app/search-params";

export function alertsSearch(raw: RawSearch) {
  return only({ past: flag(raw, "past") });
}
