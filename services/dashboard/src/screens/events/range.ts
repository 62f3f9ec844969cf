/** From when to when: the last so many minutes, or between two moments. In the address, so that it can be shared. */
import { type RawSearch, text } from "@/app/search-params";

export const LASTS = ["15m", "1h", "24h", "7d", "30d"] as const;
export type Last = (typeof LASTS)[number];

const MINUTE_MS = 60_000;
const LENGTHS_MS: Record<Last, number> = {
  "15m": 15 * MINUTE_MS,
  "1h": 60 * MINUTE_MS,
  "24h": 24 * 60 * MINUTE_MS,
  "7d": 7 * 24 * 60 * MINUTE_MS,
  "30d": 30 * 24 * 60 * MINUTE_MS,
};

/** Milliseconds since 1970; null: without an end on this side. */
export interface Span {
  readonly from: number | null;
  readonly to: number | null;
}

export interface RangeSearch {
  readonly last?: Last | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** A moment that the address names, as the server has it; undefined: it is none. */
export function momentIn(raw: RawSearch, key: string): string | undefined {
  const ms = Date.parse(text(raw, key) ?? "");
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Two moments hold over the last so many minutes. */
export function spanOf({ last, from, to }: RangeSearch, now: number): Span {
  if (from !== undefined || to !== undefined) {
    return { from: from === undefined ? null : Date.parse(from), to: to === undefined ? null : Date.parse(to) };
  }
  return { from: last === undefined ? null : now - LENGTHS_MS[last], to: null };
}

export function isWithin({ from, to }: Span, at: string): boolean {
  const ms = Date.parse(at);
  return (from === null || ms >= from) && (to === null || ms < to);
}

/** For `<input type="datetime-local">`, on the clock of this machine. */
export function localOf(iso: string | undefined): string {
  if (iso === undefined) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

export function isoOf(local: string): string | undefined {
  const ms = local === "" ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
