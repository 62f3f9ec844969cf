/** The figures of the chosen range, from the server: the same after a reload, and for everybody. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApp } from "@/app/context";
import { usePast } from "@/app/past";
import type { FarmSeries } from "@/lib/api/schema";
import { useFormat } from "@/lib/time/format";
import type { Mark, Span } from "@/ui/chart-points";
import { useChartText } from "@/ui/chart-text";
import { gapsOf, timesOf } from "./recorded";
import type { Range } from "./search";
import { useRange } from "./use-range";

/** A new minute comes once a minute; of longer ranges it changes little. */
const READ_EVERY_MS = { short: 15_000, long: 60_000 };

/** `wanted`: another range than the chosen one. */
export function useRecorded(wanted?: Range) {
  const { client } = useApp();
  const past = usePast();
  const chosen = useRange();
  const range = wanted ?? chosen;
  const isShort = range === "15m" || range === "1h";
  const query = new URLSearchParams({ range, ...(past === null ? {} : { to: past.iso }) });
  return useQuery({
    queryKey: ["series", range, past?.iso],
    queryFn: () => client.json<FarmSeries>(`/api/series?${query}`),
    refetchInterval: past !== null ? false : isShort ? READ_EVERY_MS.short : READ_EVERY_MS.long,
  });
}

export interface Drawable {
  readonly times: readonly number[];
  readonly stepS: number;
  readonly gaps: readonly Span[];
  readonly marks: readonly Mark[];
}

/** What all charts of a series have in common. Empty before it was read. */
export function useDrawable(series: FarmSeries | undefined): Drawable {
  const { charts } = useChartText();
  const format = useFormat();
  return useMemo(() => {
    if (series === undefined) return { times: [], stepS: 60, gaps: [], marks: [] };
    const marks = series.restarts.map(({ at }) => ({
      at: Date.parse(at) / 1000,
      text: charts.restartAt(format.moment(at)),
    }));
    return { times: timesOf(series), stepS: series.step_s, gaps: gapsOf(series), marks };
  }, [series, charts, format]);
}
