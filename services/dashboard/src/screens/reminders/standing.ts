/** Where an alarm stands, and what the server is asked for each list. */
import { type ListOf, newestFirst } from "@/lib/live/overlay";
import { containing, type Query } from "@/lib/rest/read";
import type { AlarmEventRow, AlarmEventType, AlarmRow } from "@/lib/rest/reminder-rows";

/** `waiting`: its time has not come. `due`: it has, and nobody has taken it up yet. `sending`: somebody has. */
export type Standing = "waiting" | "due" | "sending" | "retrying";

export function standingOf(
  alarm: Pick<AlarmRow, "processed_at" | "retry_at" | "next_alarm_time">,
  now: number,
): Standing {
  if (alarm.processed_at !== null) return "sending";
  if (alarm.retry_at !== null) return "retrying";
  return Date.parse(alarm.next_alarm_time) <= now ? "due" : "waiting";
}

/** When something happens to it next. */
export function nextAt(alarm: Pick<AlarmRow, "processed_at" | "recover_at" | "retry_at" | "next_alarm_time">): string {
  if (alarm.processed_at !== null && alarm.recover_at !== null) return alarm.recover_at;
  return alarm.retry_at ?? alarm.next_alarm_time;
}

/** What did not go as it should. */
export const FAILURES = ["FAILED", "UNKNOWN", "SKIPPED", "CROWDED"] as const satisfies readonly AlarmEventType[];

export function alarmsFilter(text: string): Query {
  if (text.trim() === "") return {};
  const columns = ["user_id", "title", "page_id"].map((column) => `${column}.${containing(text)}`);
  return { or: `(${columns.join(",")})` };
}

export function historyFilter(show: "sent" | "failed", text: string): Query {
  const types = show === "sent" ? "eq.SENT" : `in.(${FAILURES.join(",")})`;
  if (text.trim() === "") return { event_type: types };
  const columns = ["user_id", "page_id", "error_code"].map((column) => `${column}.${containing(text)}`);
  return { event_type: types, or: `(${columns.join(",")})` };
}

const LINES = {
  keyOf: (line: AlarmEventRow) => String(line.id),
  rowOf: (told: unknown) => told as AlarmEventRow,
  changedAt: (line: AlarmEventRow) => line.created_at,
  compare: newestFirst((line: AlarmEventRow) => line.created_at),
};

/** Lines that the same question would be answered with. */
export function historyList(show: "sent" | "failed", text: string): ListOf<AlarmEventRow> {
  const types: readonly AlarmEventType[] = show === "sent" ? ["SENT"] : FAILURES;
  const part = text.trim().toLowerCase();
  const isNamed = (line: AlarmEventRow) =>
    [line.user_id, line.page_id, line.error_code].some((one) => one?.toLowerCase().includes(part));
  return { ...LINES, isShown: (line) => types.includes(line.event_type) && (part === "" || isNamed(line)) };
}

/** Lines of one alarm. */
export function alarmList(user: string, page: string): ListOf<AlarmEventRow> {
  return { ...LINES, isShown: (line) => line.user_id === user && line.page_id === page };
}

/** An alarm's key: both parts, as two users' programs may have given their pages the same id. */
export function keyOf(of: { readonly page_id: string; readonly user_id: string }): string {
  return JSON.stringify([of.user_id, of.page_id]);
}

export function partsOf(key: string): { readonly user: string; readonly page: string } {
  const [user, page] = JSON.parse(key) as [string, string];
  return { user, page };
}
