/** How fast a job goes, and how long it may still take. */
import type { Dictionary } from "@/lib/i18n/en";
import { type Tally, WINDOW_S } from "@/lib/live/tally";
import { duration } from "@/lib/time/format";

/** The shortest in which enough phones were through is taken: it tells best how it goes now. */
const WINDOWS_MS = [120_000, 300_000, WINDOW_S * 1000];
/** In a shorter time, and from fewer phones, chance says more than the farm. */
const TIME_MIN_MS = 10_000;
const ENDS_MIN = 5;
const MINUTE_MS = 60_000;

/** For how long somebody may be told that the pace is being measured. Later there are just too few ends. */
export const MEASURING_MS = 120_000;

/** Phones a minute. Null: too little is known to say. */
export function paceOf(tally: Tally, job: string, activatedAt: string, now: number): number | null {
  for (const window of WINDOWS_MS) {
    const since = Math.max(now - window, Date.parse(activatedAt));
    const ends = tally.endsSince(job, since);
    if (now - since >= TIME_MIN_MS && ends >= ENDS_MIN) return (ends * MINUTE_MS) / (now - since);
  }
  return null;
}

/** In whole minutes: more would be a guess. */
export function etaText(t: Dictionary, ms: number): string {
  if (ms < MINUTE_MS) return t.queue.etaSoon;
  return t.queue.eta(duration(t, Math.round(ms / MINUTE_MS) * MINUTE_MS));
}
