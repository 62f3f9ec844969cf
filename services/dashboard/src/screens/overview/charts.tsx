/** The last quarter of an hour in lines, from the events that this page heard. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { useApp } from "@/app/context";
import { useTally } from "@/farm/use-tally";
import { get } from "@/lib/api/get";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { Chart, type ChartProps, type ChartSeries } from "@/ui/chart";
import { Card } from "@/ui/page";
import { meanWaits } from "./recorded";

const STEP_S = 15;
const RECORDED_EVERY_MS = 30_000;
const PER_MINUTE = 60 / STEP_S;

function useSeries() {
  const { tally, now, past } = useTally();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the past stands for what was read of it
  return useMemo(() => tally.series(now, STEP_S), [tally, now, past]);
}

function Key({ series }: { series: readonly ChartSeries[] }): ReactNode {
  return (
    <ul className="flex gap-3">
      {series.map((one) => (
        <li key={one.label} className="flex items-center gap-1.5 text-xs text-ink-3">
          <span className="size-2 rounded-full" style={{ background: `var(${one.colour})` }} />
          {one.label}
        </li>
      ))}
    </ul>
  );
}

function ChartCard({ title, ...chart }: ChartProps & { title: string }): ReactNode {
  return (
    <Card title={title} aside={<Key series={chart.series} />}>
      <Chart {...chart} />
    </Card>
  );
}

export function Throughput({ height }: { height: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { times, completed, failed, lost } = useSeries();
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: t.overview.chartCompleted, colour: "--online", kind: "columns" },
      { label: t.overview.chartFailed, colour: "--error", kind: "columns" },
      { label: t.overview.chartLost, colour: "--held", kind: "columns" },
    ],
    [t],
  );
  // Stacked: each column reaches from nothing to its own top, the tallest is drawn first.
  const data = useMemo(() => {
    const rate = (n: number) => n * PER_MINUTE;
    const all = times.map((_, i) => rate((completed[i] ?? 0) + (failed[i] ?? 0) + (lost[i] ?? 0)));
    const bad = times.map((_, i) => rate((failed[i] ?? 0) + (lost[i] ?? 0)));
    return [times, all, bad, lost.map(rate)] as [number[], number[], number[], number[]];
  }, [times, completed, failed, lost]);
  const own = (index: number, value: number, at: number): number => value - ((data[index + 2]?.[at] as number) ?? 0);
  return (
    <ChartCard
      title={t.overview.throughput}
      label={t.overview.throughputLabel}
      series={series}
      data={data}
      height={height}
      least={8}
      format={(value) => format.number(Math.round(value))}
      own={own}
    />
  );
}

export function Pickup({ height }: { height: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { times, waitP50, waitP95 } = useSeries();
  const { client } = useApp();
  const { data: recorded } = useQuery({
    queryKey: ["overview"],
    queryFn: async () => (await get(client, "/api/overview", {})).last_hour,
    refetchInterval: RECORDED_EVERY_MS,
  });
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: t.overview.mean, colour: "--ink-3", kind: "line" },
      { label: t.overview.median, colour: "--busy", kind: "line" },
      { label: t.overview.p95, colour: "--held", kind: "line" },
    ],
    [t],
  );
  const data = useMemo(
    () => [[...times], meanWaits(times, recorded), [...waitP50], [...waitP95]] as never,
    [times, recorded, waitP50, waitP95],
  );
  return (
    <ChartCard
      title={t.overview.pickup}
      label={t.overview.pickupLabel}
      series={series}
      data={data}
      height={height}
      least={1_000}
      format={(ms) => `${format.number(ms / 1000)} s`}
    />
  );
}

export function Delay({ height }: { height: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { times, delay } = useSeries();
  const series = useMemo<ChartSeries[]>(() => [{ label: t.overview.worst, colour: "--busy", kind: "line" }], [t]);
  const data = useMemo(() => [[...times], [...delay]] as never, [times, delay]);
  return (
    <ChartCard
      title={t.overview.delay}
      label={t.overview.delayLabel}
      series={series}
      data={data}
      height={height}
      least={200}
      format={(ms) => (ms < 1_000 ? `${format.number(Math.round(ms))} ms` : `${format.number(ms / 1000)} s`)}
    />
  );
}
