/** What the address of the audit says. */
import { choice, only, type RawSearch, sortOf, text } from "@/app/search-params";
import type { AuditEntry } from "@/lib/api/schema";

export type Kind = AuditEntry["kind"];

export const KINDS = [
  "film",
  "gfx_data",
  "evidence",
  "reminder_text",
  "people",
  "keys",
  "audit",
  "export",
  "sign_in",
  "change",
] as const satisfies readonly Kind[];

export const RANGES = ["hour", "day", "week", "month"] as const;
export type Range = (typeof RANGES)[number];

const HOUR_MS = 3_600_000;
const LENGTHS_MS: Record<Range, number> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
};

/** Columns with an index. */
export const SORTS = ["at"] as const;

export function auditSearch(raw: RawSearch) {
  return only({
    /** Who did it: `user:<id>`, `service_role`. */
    by: text(raw, "by"),
    kind: choice(raw, "kind", KINDS),
    range: choice(raw, "range", RANGES),
    order: sortOf(raw, SORTS),
  });
}
export type AuditSearch = ReturnType<typeof auditSearch>;

/** What the server is asked for, on any page and in an export. */
export function queryOf(search: AuditSearch, now: number): Record<string, string> {
  return {
    ...(search.by === undefined ? {} : { by: search.by }),
    ...(search.kind === undefined ? {} : { kind: search.kind }),
    ...(search.range === undefined ? {} : { from: new Date(now - LENGTHS_MS[search.range]).toISOString() }),
    ...(search.order === "at" ? { order: "oldest" } : {}),
  };
}

/** The address of one page of the list. */
export function pathOf(search: AuditSearch, now: number, cursor: string | null): string {
  const query = new URLSearchParams(queryOf(search, now));
  if (cursor !== null) query.set("cursor", cursor);
  const text = query.toString();
  return text === "" ? "/api/audit" : `/api/audit?${text}`;
}
