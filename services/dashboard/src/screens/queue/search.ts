/** What the address of the queue says. */
import { choice, flag, only, type RawSearch, sortOf, text } from "@/app/search-params";

export const ENDED = ["completed", "cancelled", "deactivated", "expired"] as const;
/** Where a job's assignments stand, as the server filters them. */
export const STANDINGS = ["running", "pending", "completed", "failed", "cancelled"] as const;
/** Columns with an index. */
export const HISTORY_SORTS = ["title", "status", "ended_at"] as const;

export function queueSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    ended: choice(raw, "ended", ENDED),
    job: text(raw, "job"),
    at: choice(raw, "at", STANDINGS),
    /** By which column the history is sorted: `title.desc`. */
    order: sortOf(raw, HISTORY_SORTS),
    new: flag(raw, "new"),
  });
}
export type QueueSearch = ReturnType<typeof queueSearch>;
