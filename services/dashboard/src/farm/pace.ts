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

/**
 * Phones a minute. Null: too little is known to say. Also when most phones were through long ago and hardly one lately: the
 * pace of before would promise that the rest takes seconds.
 */
export function paceOf(tally: Tally, job: string, activatedAt: string, now: number): number | null {
  let most = Number.POSITIVE_INFINITY;
  for (const window of WINDOWS_MS) {
    const since = Math.max(now - window, Date.parse(activatedAt));
    if (now - since < TIME_MIN_MS) continue;
    const ends = tally.endsSince(job, since);
    const perMinute = MINUTE_MS / (now - since);
    if (ends >= ENDS_MIN) return ends * perMinute <= most ? ends * perMinute : null;
    most = Math.min(most, ENDS_MIN * perMinute); // it went no faster than this, whatever it did before
  }
  return null;
}

/** In whole minutes: more would be a guess. */
export function etaText(t: Dictionary, ms: number): string {
  if (ms < MINUTE_MS) return t.queue.etaSoon;
  return t.queue.eta(duration(t, Math.round(ms / MINUTE_MS) * MINUTE_MS));
}
