/** Where moments lie on the slider: its ends, its steps, its ticks, and the marks on it. */
import type { AlertRow } from "@/lib/rest/rows";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const RANGES = ["hour", "quarter", "day", "week"] as const;
export type Range = (typeof RANGES)[number];

interface Spans {
  readonly spanMs: number;
  /** Moments are whole steps: the same moment is then the same for all, and its answer is kept. */
  readonly stepMs: number;
  readonly tickMs: number;
}

const SPANS: Record<Range, Spans> = {
  hour: { spanMs: HOUR, stepMs: 5_000, tickMs: 10 * MINUTE },
  quarter: { spanMs: 6 * HOUR, stepMs: 30_000, tickMs: HOUR },
  day: { spanMs: DAY, stepMs: 2 * MINUTE, tickMs: 4 * HOUR },
  week: { spanMs: 7 * DAY, stepMs: 15 * MINUTE, tickMs: DAY },
};

export interface Scale extends Spans {
  readonly from: number;
  readonly to: number;
}

/** Ends with the step that is under way. */
export function scaleOf(range: Range, now: number): Scale {
  const spans = SPANS[range];
  const to = Math.ceil(now / spans.stepMs) * spans.stepMs;
  return { ...spans, from: to - spans.spanMs, to };
}

/** The shortest one that reaches back to a moment; the longest, if none does. */
export function rangeFor(at: number, now: number): Range {
  return RANGES.find((range) => at >= scaleOf(range, now).from) ?? "week";
}

/** 0 at the left end, 1 at the right one. */
export function shareOf(scale: Scale, at: number): number {
  return Math.min(1, Math.max(0, (at - scale.from) / (scale.to - scale.from)));
}

export function momentAt(scale: Scale, share: number): number {
  return snap(scale, scale.from + share * (scale.to - scale.from));
}

/** The nearest whole step on the scale. */
export function snap(scale: Scale, at: number): number {
  const whole = Math.round(at / scale.stepMs) * scale.stepMs;
  return Math.min(scale.to, Math.max(scale.from, whole));
}

/** Null: that is now, or later. */
export function pastMoment(at: number, now: number): string | null {
  return at >= now ? null : new Date(at).toISOString();
}

/** Whole hours or days on this machine's clock. `offsetMin`: how far that is from UTC. */
export function ticksOf(scale: Scale, offsetMin = -new Date(scale.to).getTimezoneOffset()): number[] {
  const shift = offsetMin * MINUTE;
  const first = Math.ceil((scale.from + shift) / scale.tickMs) * scale.tickMs - shift;
  const ticks: number[] = [];
  for (let at = first; at <= scale.to; at += scale.tickMs) ticks.push(at);
  return ticks;
}

export interface Mark {
  readonly at: number;
  readonly share: number;
  /** More than one, where they lie too close to be told apart. */
  readonly alerts: readonly AlertRow[];
}

/** Marks closer than this share of the scale are one. */
export const CLOSEST = 0.008;

/** Alerts on the scale; those within `closest` of each other are one mark. */
export function marksOf(scale: Scale, alerts: readonly AlertRow[], closest = CLOSEST): Mark[] {
  const marks: { at: number; share: number; alerts: AlertRow[] }[] = [];
  const inside = alerts
    .map((alert) => ({ alert, at: Date.parse(alert.raised_at) }))
    .filter(({ at }) => at >= scale.from && at <= scale.to)
    .sort((a, b) => a.at - b.at);
  for (const { alert, at } of inside) {
    const share = shareOf(scale, at);
    const last = marks.at(-1);
    if (last !== undefined && share - last.share < closest) last.alerts.push(alert);
    else marks.push({ at, share, alerts: [alert] });
  }
  return marks;
}

/** As `<input type="datetime-local">` wants it: on this machine's clock, without a zone. */
export function localText(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * MINUTE);
  return local.toISOString().slice(0, 19);
}

/** Null: it is no moment. */
export function fromLocalText(text: string): number | null {
  const at = new Date(text).getTime();
  return text === "" || Number.isNaN(at) ? null : at;
}
