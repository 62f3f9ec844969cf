/** What the address of the reminders says. */
import { choice, only, type RawSearch, text } from "@/app/search-params";

export const SHOWS = ["upcoming", "sent", "failed"] as const;
export type Show = (typeof SHOWS)[number];

export function remindersSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    show: choice(raw, "show", SHOWS),
    /** The alarm that is open: its page, and whose it is. */
    page: text(raw, "page"),
    user: text(raw, "user"),
  });
}
export type RemindersSearch = ReturnType<typeof remindersSearch>;
