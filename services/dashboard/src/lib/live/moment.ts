/** Moments with their microseconds: two changes of one row may be closer than a `Date` can tell. */

const FRACTION = /\.(\d{1,6})/;

/** Microseconds since 1970 of an RFC 3339 text. */
export function micros(text: string): number {
  const fraction = FRACTION.exec(text)?.[1] ?? "";
  const seconds = Math.floor(Date.parse(text) / 1000);
  return seconds * 1_000_000 + Number(fraction.padEnd(6, "0"));
}
