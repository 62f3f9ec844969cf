/** What the address of the reminders says. */
import { choice, only, type RawSearch, sortOf, text } from "@/app/search-params";

export const SHOWS = ["upcoming", "sent", "failed"] as const;
export type Show = (typeof SHOWS)[number];

/** Columns with an index. */
export const SORTS = ["next_alarm_time", "created_at"] as const;

export function remindersSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    show: choice(raw, "show", SHOWS),
    /** Which come first: those of now, or the others. */
    order: sortOf(raw, SORTS),
    /** The alarm that is open: its page, and whose it is. */
    page: text(raw, "page"),
    user: text(raw, "user"),
  });
}
export type RemindersSearch = ReturnType<typeof remindersSearch>;
