/** The farm in lines and columns, over the chosen range. Loaded after the rest of the page, which needs no drawing. */
import { type ReactNode, useMemo } from "react";
import { usePast } from "@/app/past";
import { useTally } from "@/farm/use-tally";
import type { FarmSeries } from "@/lib/api/schema";
import { useFormat } from "@/lib/time/format";
import { Chart, type ChartProps, type ChartSeries } from "@/ui/chart";
import { useChartText } from "@/ui/chart-text";
import { Card } from "@/ui/page";
import { Unread } from "@/ui/states";
import { Lag, Platform } from "./platform";
import { completed, meanWaits, ratesOf, stacked, waitsOf } from "./recorded";
import { DEFAULT_RANGE } from "./search";
import { useRange } from "./use-range";
import { type Drawable, useDrawable, useRecorded } from "./use-series";

/** Steps of what this page counts itself, in the shortest range. */
const STEP_S = 15;

function useCounted() {
  const { tally, now, past } = useTally();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the past stands for what was read of it
  return useMemo(() => tally.series(now, STEP_S), [tally, now, past]);
}

function Key({ series, of }: { series: readonly ChartSeries[]; of: Pick<Drawable, "gaps" | "marks"> }): ReactNode {
  const { charts } = useChartText();
  return (
    <ul className="flex flex-wrap gap-x-3">
      {series.map((one) => (
        <li key={one.label} className="flex items-center gap-1.5 text-xs text-ink-3">
          <span className="size-2 rounded-full" style={{ background: `var(${one.colour})` }} />
          {one.label}
        </li>
      ))}
      {of.marks.length > 0 && (
        <li className="flex items-center gap-1.5 text-xs text-ink-3">
          <span className="h-2.5 border-l border-dashed border-ink-3" /> {charts.restart}
        </li>
      )}
      {of.gaps.length > 0 && (
        <li className="flex items-center gap-1.5 text-xs text-ink-3">
          <span className="size-2.5 border border-line-strong bg-sunken bg-[repeating-linear-gradient(135deg,transparent_0_2px,var(--line-strong)_2px_3px)]" />
          {charts.gap}
        </li>
      )}
    </ul>
  );
}

type DrawnProps = Omit<ChartProps, "stepS" | "gaps" | "marks">;

/** Until the figures were read it says so, or what is wrong. */
function ChartCard({
  title,
  of,
  read,
  remark,
  ...chart
}: DrawnProps & { title: string; of: Drawable; read?: ReturnType<typeof useRecorded>; remark?: ReactNode }): ReactNode {
  return (
    <Card title={title} aside={<Key series={chart.series} of={of} />}>
      {read !== undefined && read.data === undefined ? (
        <div style={{ height: chart.height }} className="flex flex-col justify-center">
          <Unread of={read} />
        </div>
      ) : (
        <Chart {...chart} stepS={of.stepS} gaps={of.gaps} marks={of.marks} />
      )}
      {remark}
    </Card>
  );
}

export function Throughput({ height }: { height: number }): ReactNode {
  const t = useChartText();
  const format = useFormat();
  const range = useRange();
  const read = useRecorded();
  const recorded = useDrawable(read.data);
  const counted = useCounted();
  const isCounted = range === "15m";
  const series = useMemo<ChartSeries[]>(
    () => [
      { label: t.overview.chartCompleted, colour: "--online", kind: "columns" },
      { label: t.overview.chartFailed, colour: "--error", kind: "columns" },
      { label: t.overview.chartLost, colour: "--held", kind: "columns" },
    ],
    [t],
  );
  const data = useMemo(() => {
    if (isCounted) return [[...counted.times], ...stacked(completed(counted, STEP_S, read.data))] as never;
    return [[...recorded.times], ...stacked(read.data === undefined ? NO_RATES : ratesOf(read.data))] as never;
  }, [isCounted, counted, recorded, read.data]);
  const own = (index: number, value: number, at: number): number =>
    value - (((data as (number | null)[][])[index + 2]?.[at] as number) ?? 0);
  return (
    <ChartCard
      title={t.overview.throughput}
      label={t.charts.throughputLabel(t.charts.over[range])}
      series={series}
      data={data}
      of={isCounted ? { ...recorded, stepS: STEP_S } : recorded}
      {...(isCounted ? {} : { read })}
      height={height}
      least={8}
      format={(value) => format.number(range === "15m" || value >= 10 ? Math.round(value) : value)}
      own={own}
    />
  );
}

/** The small ones. Of the past, what only this page can tell is left out. */
export function LowCharts({ height }: { height: number }): ReactNode {
  const t = useChartText();
  const isPast = usePast() !== null;
  const isShort = useRange() === DEFAULT_RANGE;
  return (
    <>
      <Phones height={height} />
      <Pickup height={height} />
      {isPast ? (
        <Card title={t.overview.lag}>
          <Lag height={height} />
        </Card>
      ) : (
        <Platform height={height} />
      )}
      {isShort && !isPast && <Delay height={height} />}
    </>
  );
}

const NO_RATES = { completed: [], failed: [], lost: [] };

function Pickup({ height }: { height: number }): ReactNode {
  const t = useChartText();
  const format = useFormat();
  const range = useRange();
  const isPast = usePast() !== null;
  const read = useRecorded();
  const recorded = useDrawable(read.data);
  const counted = useCounted();
  // Of single waits only this page knows; the server keeps their mean.
  const isCounted = range === "15m" && !isPast;
  const series = useMemo<ChartSeries[]>(() => {
    const mean = { label: t.overview.mean, colour: "--ink-3", kind: "line" } as const;
    if (!isCounted) return [{ ...mean, colour: "--busy" }];
    return [
      mean,
      { label: t.overview.median, colour: "--busy", kind: "line" },
      { label: t.overview.p95, colour: "--held", kind: "line" },
    ];
  }, [t, isCounted]);
  const data = useMemo(() => {
    if (!isCounted) return [[...recorded.times], read.data === undefined ? [] : waitsOf(read.data)] as never;
    const { times, waitP50, waitP95 } = counted;
    return [[...times], meanWaits(times, read.data), [...waitP50], [...waitP95]] as never;
  }, [isCounted, counted, recorded, read.data]);
  return (
    <ChartCard
      title={t.overview.pickup}
      label={t.charts.pickupLabel(t.charts.over[range])}
      series={series}
      data={data}
      of={isCounted ? { ...recorded, stepS: STEP_S } : recorded}
      {...(isCounted ? {} : { read })}
      height={height}
      least={1_000}
      format={(ms) => `${format.number(ms / 1000)} s`}
    />
  );
}

const PHONES = ["busy", "online", "offline", "error"] as const;
const NO_PHONES: FarmSeries["phones"] = { busy: [], online: [], offline: [], error: [] };

function Phones({ height }: { height: number }): ReactNode {
  const t = useChartText();
  const format = useFormat();
  const range = useRange();
  const read = useRecorded();
  const recorded = useDrawable(read.data);
  const series = useMemo<ChartSeries[]>(
    () => PHONES.map((status) => ({ label: t.shown[status], colour: PHONE_COLOURS[status], kind: "line" })),
    [t],
  );
  const data = useMemo(() => {
    const phones = read.data?.phones ?? NO_PHONES;
    return [[...recorded.times], ...PHONES.map((status) => phones[status])] as never;
  }, [recorded, read.data]);
  return (
    <ChartCard
      title={t.charts.phones}
      label={t.charts.phonesLabel(t.charts.over[range])}
      series={series}
      data={data}
      of={recorded}
      read={read}
      height={height}
      least={4}
      format={(value) => format.number(Math.round(value))}
    />
  );
}

/** A line needs more ink than the area of a phone that is offline. */
const PHONE_COLOURS = { busy: "--busy", online: "--online", offline: "--ink-3", error: "--error" } as const;

/** When this page was opened: what it measures itself begins here. */
const OPENED_AT = Date.now();

function Delay({ height }: { height: number }): ReactNode {
  const t = useChartText();
  const format = useFormat();
  const counted = useCounted();
  const { times, delay } = counted;
  const series = useMemo<ChartSeries[]>(() => [{ label: t.overview.worst, colour: "--busy", kind: "line" }], [t]);
  const data = useMemo(() => [[...times], [...delay]] as never, [times, delay]);
  const of = useMemo<Drawable>(() => {
    const from = times[0] ?? 0;
    const gap = { from, to: Math.min(OPENED_AT / 1000, times.at(-1) ?? 0) };
    return { times, stepS: STEP_S, marks: [], gaps: gap.to > gap.from ? [gap] : [] };
  }, [times]);
  const since = format.moment(OPENED_AT);
  return (
    <ChartCard
      title={t.overview.delay}
      label={t.charts.delayLabel(since)}
      series={series}
      data={data}
      of={of}
      height={height - LINE_PX}
      least={200}
      format={(ms) => (ms < 1_000 ? `${format.number(Math.round(ms))} ms` : `${format.number(ms / 1000)} s`)}
      remark={
        <p className="truncate text-xs text-ink-3" style={{ height: LINE_PX, lineHeight: `${LINE_PX}px` }}>
          {t.charts.sincePage(since)}
        </p>
      }
    />
  );
}

const LINE_PX = 24;
