/** What the minutes before this page listened were like, as the tables have them: charts need not begin empty. */
import type { Series } from "@/lib/api/schema";

/** Milliseconds from the offer to the start, on average, for each of these moments (seconds since 1970). */
export function meanWaits(times: readonly number[], recorded: Series | undefined): (number | null)[] {
  const means = new Map(
    recorded?.minutes.map((minute, at) => [Date.parse(minute) / 60_000, recorded.attempts.wait_s[at] ?? null]),
  );
  return times.map((time) => {
    const mean = means.get(Math.floor(time / 60)) ?? null;
    return mean === null ? null : mean * 1000;
  });
}
