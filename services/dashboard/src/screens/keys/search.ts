/** What the address of the API keys says. */
import { only, type RawSearch, sortOf } from "@/app/search-params";

/** All keys are there, so they can be sorted by any column. */
export const SORTS = ["name", "role", "state", "created_by", "expires_at", "last_used_at"] as const;

export function keysSearch(raw: RawSearch) {
  return only({ order: sortOf(raw, SORTS) });
}
export type KeysSearch = ReturnType<typeof keysSearch>;
