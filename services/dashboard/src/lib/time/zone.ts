/** A moment on somebody else's clock. */

export interface ZonedTime {
  /** Tue 17 Nov, 09:00 */
  readonly text: string;
  /** Asia/Seoul, UTC+9 */
  readonly zone: string;
  /** False: it is not a zone that this browser knows, so the time is in UTC. */
  readonly isKnown: boolean;
}

const formats = new Map<string, Intl.DateTimeFormat | null>();

function formatOf(locale: string, timeZone: string): Intl.DateTimeFormat | null {
  const key = `${locale} ${timeZone}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  let format: Intl.DateTimeFormat | null = null;
  try {
    format = new Intl.DateTimeFormat(locale, {
      timeZone,
      weekday: "short",
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    });
  } catch {
    // not a zone
  }
  formats.set(key, format);
  return format;
}

export function inZone(locale: string, at: string, timeZone: string): ZonedTime {
  const format = formatOf(locale, timeZone);
  const moment = new Date(at);
  if (format === null) {
    return { text: formatOf(locale, "UTC")?.format(moment) ?? at, zone: `${timeZone}?`, isKnown: false };
  }
  return { text: format.format(moment), zone: `${timeZone}, ${offsetText(moment, timeZone)}`, isKnown: true };
}

/** UTC+9, UTC−3:30: with summer time where there is some at that moment. */
export function offsetText(moment: Date, timeZone: string): string {
  const minutes = offsetMinutes(moment, timeZone);
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

function offsetMinutes(moment: Date, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(moment);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
  const [year, month, day] = [part("year"), part("month") - 1, part("day")];
  const shown = Date.UTC(year, month, day, part("hour"), part("minute"), part("second"));
  return Math.round((shown - Math.floor(moment.getTime() / 1000) * 1000) / 60_000);
}
