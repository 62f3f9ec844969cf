/** Numbers and moments as people read them, on their own clock. */
import { useMemo } from "react";
import type { Dictionary } from "../i18n/en";
import { useText } from "../i18n/i18n";

export interface Format {
  readonly number: (n: number) => string;
  readonly percent: (share: number) => string;
  /** With seconds: 14:03:22. */
  readonly clock: (at: string | number) => string;
  /** Today the time, else the day too. */
  readonly moment: (at: string | number | null | undefined) => string;
  readonly full: (at: string | number) => string;
  /** The two largest units: 3 min 20 s. */
  readonly duration: (ms: number) => string;
  /** 3 min ago. */
  readonly ago: (at: string | number, now: number) => string;
}

export function useFormat(): Format {
  const t = useText();
  return useMemo(() => format(t), [t]);
}

export function format(t: Dictionary): Format {
  const { locale } = t;
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 });
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const clock = new Intl.DateTimeFormat(locale, { ...time, second: "2-digit" });
  const short = new Intl.DateTimeFormat(locale, time);
  const day = new Intl.DateTimeFormat(locale, { ...time, day: "numeric", month: "short" });
  const full = new Intl.DateTimeFormat(locale, {
    ...time,
    second: "2-digit",
    dateStyle: undefined,
    day: "numeric",
    month: "short",
    year: "numeric",
  });
  return {
    number: (n) => number.format(n),
    percent: (share) => percent.format(Number.isFinite(share) ? share : 0),
    clock: (at) => clock.format(new Date(at)),
    moment: (at) => {
      if (at === null || at === undefined) return t.common.unknown;
      const date = new Date(at);
      return (isToday(date) ? short : day).format(date);
    },
    full: (at) => full.format(new Date(at)),
    duration: (ms) => duration(t, ms),
    ago: (at, now) => {
      const ms = now - new Date(at).getTime();
      return ms < 2_000 ? t.time.justNow : t.time.ago(duration(t, ms, 1));
    },
  };
}

function isToday(date: Date): boolean {
  return date.toDateString() === new Date().toDateString();
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

export function duration(t: Dictionary, ms: number, parts = 2): string {
  let left = Math.max(0, Math.round(ms / 1000));
  const said: string[] = [];
  for (const [unit, seconds] of UNITS) {
    const n = Math.floor(left / seconds);
    left -= n * seconds;
    const isWorthSaying = n > 0 || (unit === "s" && said.length === 0);
    if (isWorthSaying && said.length < parts) said.push(`${n}${t.time.units[unit]}`);
    else if (said.length > 0) break; // 2 h, not 2 h 3 s
  }
  return said.join(" ");
}
