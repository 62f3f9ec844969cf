/** What the server has recorded, as charts show it: per minute, with gaps where nothing was recorded. */
import type { FarmSeries } from "@/lib/api/schema";
import type { Series as Counted } from "@/lib/live/tally";
import { gapsIn, type Span } from "@/ui/chart-points";

/** Attempts per minute, by how they ended; null where nothing was recorded. */
export interface Rates {
  readonly completed: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  readonly lost: readonly (number | null)[];
}

export interface Sums {
  readonly completed: number;
  readonly failed: number;
}

/** When each step begins, in seconds since 1970. */
export function timesOf(series: FarmSeries): number[] {
  const start = Date.parse(series.start) / 1000;
  return series.minutes.map((_, step) => start + step * series.step_s);
}

export function gapsOf(series: FarmSeries): Span[] {
  return gapsIn(
    Date.parse(series.start) / 1000,
    series.step_s,
    series.minutes.map((minutes) => minutes > 0),
  );
}

/** Over the minutes that were recorded: a step with a gap in it does not look slower than it was. */
export function ratesOf(series: FarmSeries): Rates {
  const perMinute = (counts: readonly (number | null)[]) =>
    counts.map((count, step) => {
      const minutes = series.minutes[step] ?? 0;
      return count === null || minutes === 0 ? null : count / minutes;
    });
  const { succeeded, failed, rolled_back } = series.attempts;
  return { completed: perMinute(succeeded), failed: perMinute(failed), lost: perMinute(rolled_back) };
}

/** Milliseconds from the offer to the start, on average. */
export function waitsOf(series: FarmSeries): (number | null)[] {
  return series.attempts.wait_s.map((seconds) => (seconds === null ? null : seconds * 1000));
}

/** For each of these moments, which step of the series it is in; null: in none. */
function stepsAt(times: readonly number[], series: FarmSeries | undefined): (number | null)[] {
  if (series === undefined) return times.map(() => null);
  const start = Date.parse(series.start) / 1000;
  return times.map((time) => {
    const step = Math.floor((time - start) / series.step_s);
    return step >= 0 && step < series.minutes.length ? step : null;
  });
}

/** The mean pickup time in milliseconds, for each of these moments. */
export function meanWaits(times: readonly number[], series: FarmSeries | undefined): (number | null)[] {
  const waits = series === undefined ? [] : waitsOf(series);
  return stepsAt(times, series).map((step) => (step === null ? null : (waits[step] ?? null)));
}

/**
 * What this page counted in short steps, per minute; where it counted less than the server recorded, the server's minute:
 * the page has not heard what was before it was opened.
 */
export function completed(counted: Counted, stepS: number, series: FarmSeries | undefined): Rates {
  const perMinute = 60 / stepS;
  const steps = stepsAt(counted.times, series);
  const heard = new Map<number, number>();
  steps.forEach((step, at) => {
    const all = (counted.completed[at] ?? 0) + (counted.failed[at] ?? 0) + (counted.lost[at] ?? 0);
    if (step !== null) heard.set(step, (heard.get(step) ?? 0) + all);
  });
  const recorded = series === undefined ? undefined : ratesOf(series);
  const line = (name: keyof Rates) =>
    counted.times.map((_, at) => {
      const step = steps[at] ?? null;
      const own = (counted[name][at] ?? 0) * perMinute;
      if (step === null || recorded === undefined || series === undefined) return own;
      const all = (["completed", "failed", "lost"] as const).reduce((sum, one) => sum + (recorded[one][step] ?? 0), 0);
      // A minute has 60 s, also for the server: per minute and in a minute is the same.
      return (heard.get(step) ?? 0) < all || (series.minutes[step] === 0 && heard.get(step) === 0)
        ? (recorded[name][step] ?? null)
        : own;
    });
  return { completed: line("completed"), failed: line("failed"), lost: line("lost") };
}

/** How many attempts ended in each way from a moment on, in seconds since 1970: as the chart of them shows it. */
export function sumFrom(from: number, counted: Counted, stepS: number, series: FarmSeries | undefined): Sums {
  const rates = completed(counted, stepS, series);
  const sum = (line: readonly (number | null)[]) =>
    line.reduce<number>((all, rate, at) => ((counted.times[at] ?? 0) < from ? all : all + (rate ?? 0)), 0);
  const perStep = stepS / 60;
  return { completed: perStep * sum(rates.completed), failed: perStep * sum(rates.failed) };
}

/** Columns on top of each other: each reaches from nothing to its own top, the tallest is drawn first. */
export function stacked({ completed: done, failed, lost }: Rates): (number | null)[][] {
  const sum = (...parts: (number | null | undefined)[]) =>
    parts.every((part) => part == null) ? null : parts.reduce<number>((all, part) => all + (part ?? 0), 0);
  return [
    done.map((one, at) => sum(one, failed[at], lost[at])),
    failed.map((one, at) => sum(one, lost[at])),
    [...lost],
  ];
}

/** Points of a line: the server's until this page has looked itself, then its own. Times are seconds since 1970. */
export function joined(
  series: FarmSeries,
  looks: readonly { readonly at: number; readonly lagS: number | null }[],
): { readonly times: number[]; readonly values: (number | null)[] } {
  const first = (looks[0]?.at ?? Number.POSITIVE_INFINITY) / 1000;
  const start = Date.parse(series.start) / 1000;
  const before = timesOf(series).flatMap((time, step) => (time < first ? [[time, series.lag_s[step] ?? null]] : []));
  const own = looks.flatMap((look) => (look.at / 1000 >= start ? [[look.at / 1000, look.lagS]] : []));
  const all = [...before, ...own] as [number, number | null][];
  return { times: all.map(([time]) => time), values: all.map(([, value]) => value) };
}
