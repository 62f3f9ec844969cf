/** What the address of the queue says. */
import { choice, flag, only, type RawSearch, text } from "@/app/search-params";

export const ENDED = ["completed", "cancelled", "deactivated", "expired"] as const;
/** Where a job's assignments stand, as the server filters them. */
export const STANDINGS = ["running", "pending", "completed", "failed", "cancelled"] as const;

export function queueSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    ended: choice(raw, "ended", ENDED),
    job: text(raw, "job"),
    at: choice(raw, "at", STANDINGS),
    new: flag(raw, "new"),
  });
}
export type QueueSearch = ReturnType<typeof queueSearch>;
