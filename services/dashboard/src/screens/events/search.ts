/** What the address of the events says. */
import { choice, only, type RawSearch, text } from "@/app/search-params";
import { LASTS, momentIn } from "./range";

export const KINDS = [
  "all",
  "jobs",
  "attempts",
  "devices",
  "renders",
  "analyses",
  "reminders",
  "people",
  "alerts",
] as const;
export type Kind = (typeof KINDS)[number];

export function eventsSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    kind: choice(raw, "kind", KINDS),
    /** An id that it must be about. */
    entity: text(raw, "entity"),
    /** Exactly this type. */
    type: text(raw, "type"),
    /** The last so many minutes, or between two moments. */
    last: choice(raw, "last", LASTS),
    from: momentIn(raw, "from"),
    to: momentIn(raw, "to"),
    /** The one that is open: `fleet=12.3`. */
    event: text(raw, "event"),
  });
}
export type EventsSearch = ReturnType<typeof eventsSearch>;
