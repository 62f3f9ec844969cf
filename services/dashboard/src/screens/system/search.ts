/** What the address of the system screen says. */
import { flag, only, type RawSearch, sortOf, text } from "@/app/search-params";

export const ACCOUNT_SORTS = ["email", "role", "disabled", "last_sign_in_at"] as const;

export function systemSearch(raw: RawSearch) {
  return only({
    /** The account that is open. */
    account: text(raw, "account"),
    /** The rebuild that is open. */
    rebuild: text(raw, "rebuild"),
    new: flag(raw, "new"),
    /** By which column accounts are sorted. */
    order: sortOf(raw, ACCOUNT_SORTS),
  });
}
export type SystemSearch = ReturnType<typeof systemSearch>;
