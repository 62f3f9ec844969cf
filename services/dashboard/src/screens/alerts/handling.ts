/** What people can do about an alert, as calls, and the moments until which it can be snoozed. */
import { withBody } from "@/lib/rest/commands";
import type { Server } from "@/lib/rest/read";
import type { AlertRow } from "@/lib/rest/rows";

export const CHOICES = ["hour", "fourHours", "tomorrow", "week", "other"] as const;
export type Choice = (typeof CHOICES)[number];

const HOUR_MS = 3_600_000;
export const SNOOZE_MAX_MS = 30 * 24 * HOUR_MS;
const MORNING = 9;

type Named = Pick<AlertRow, "context" | "id">;

function pathOf({ context, id }: Named, what: string): string {
  return `/api/alerts/${encodeURIComponent(context)}/${encodeURIComponent(id)}/${what}`;
}

export function acknowledge(server: Server, alert: Named, note: string, key: string): Promise<Response> {
  return server.request(pathOf(alert, "acknowledge"), withBody("POST", { note }, key));
}

export function snooze(server: Server, alert: Named, until: Date, note: string, key: string): Promise<Response> {
  return server.request(pathOf(alert, "snooze"), withBody("POST", { until: until.toISOString(), note }, key));
}

export function endSnooze(server: Server, alert: Named, key: string): Promise<Response> {
  return server.request(pathOf(alert, "end-snooze"), { method: "POST", headers: { "Idempotency-Key": key } });
}

/** The moment that somebody chose, on their clock. Null: it is no moment within the next 30 days. */
export function untilOf(choice: Choice, other: string, now: number): Date | null {
  const until = momentOf(choice, other, now);
  const ahead = until.getTime() - now;
  return ahead > 0 && ahead <= SNOOZE_MAX_MS ? until : null;
}

function momentOf(choice: Choice, other: string, now: number): Date {
  switch (choice) {
    case "hour":
      return new Date(now + HOUR_MS);
    case "fourHours":
      return new Date(now + 4 * HOUR_MS);
    case "tomorrow": {
      const day = new Date(now);
      return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1, MORNING);
    }
    case "week":
      return new Date(now + 7 * 24 * HOUR_MS);
    case "other":
      return new Date(other);
  }
}

/** Whether it is snoozed now. */
export function isSnoozed(alert: Pick<AlertRow, "snoozed_until" | "resolved_at">, now: number): boolean {
  return alert.resolved_at === null && alert.snoozed_until != null && Date.parse(alert.snoozed_until) > now;
}
