/** What the address of the system screen says. */
import { flag, only, type RawSearch, text } from "@/app/search-params";

export function systemSearch(raw: RawSearch) {
  return only({
    /** The account that is open. */
    account: text(raw, "account"),
    /** The rebuild that is open. */
    rebuild: text(raw, "rebuild"),
    new: flag(raw, "new"),
  });
}
export type SystemSearch = ReturnType<typeof systemSearch>;
