/** The story of a render: changes of its status, and what was tried again in between. */
import type { AuditRow, RenderStatus } from "@/lib/rest/render-rows";
import type { EventRow } from "@/lib/rest/rows";

export interface Chapter {
  readonly key: string;
  readonly at: string;
  /** What it came to; null: it stayed where it was. */
  readonly status: RenderStatus | null;
  readonly by: string;
  readonly worker: string | null;
  /** Why, as a word that the dictionary knows, if it was said. */
  readonly reason: string | null;
  readonly message: string | null;
  /** When the same is tried again. */
  readonly dueAt: string | null;
  /** Which retry it is, counted from 1. */
  readonly retry: number | null;
}

/** Events that tell more than the audit does. */
export const TOLD_BESIDES = ["RetryScheduled", "RenderRequeued", "RenderFailed", "StaleRunRefused"] as const;

/** Newest first. */
export function timelineOf(audit: readonly AuditRow[], events: readonly EventRow[]): Chapter[] {
  // The audit has the reason as a word; the sentence stands in the event of the same moment.
  const sentences = new Map(events.map((event) => [`${Date.parse(event.at)} ${event.type}`, text(event, "message")]));
  const said = (row: AuditRow, type: string) => sentences.get(`${Date.parse(row.changed_at)} ${type}`) ?? null;
  const changes = audit.map((row): Chapter => {
    const message = row.status_to === "failed" ? said(row, "RenderFailed") : said(row, "RenderRequeued");
    const { changed_at: at, status_to: status, changed_by: by, worker_id: worker, reason } = row;
    return { key: `a${row.id}`, at, status, by, worker, reason, message, dueAt: null, retry: null };
  });
  const besides = events.flatMap((event): Chapter[] => {
    const chapter = { key: `e${event.seq}.${event.line}`, at: event.at, status: null, by: event.by };
    const worker = text(event, "worker_id");
    if (event.type === "RetryScheduled") {
      const retry = typeof event.data["number"] === "number" ? event.data["number"] : null;
      const [reason, message, dueAt] = [text(event, "fault"), text(event, "message"), text(event, "due_at")];
      return [{ ...chapter, worker, reason, message, dueAt, retry }];
    }
    if (event.type === "StaleRunRefused") {
      return [{ ...chapter, worker, reason: "stale", message: text(event, "report"), dueAt: null, retry: null }];
    }
    return [];
  });
  return [...changes, ...besides].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

function text(event: EventRow, key: string): string | null {
  const value = event.data[key];
  return typeof value === "string" && value !== "" ? value : null;
}
