/** The platform under the farm: how old the tables are that everything is read from, and whether somebody must look. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { usePast } from "@/app/past";
import type { System } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { BEHIND_IS_FINE, placeOf } from "@/screens/system/lag";
import { useLooks, useSystem } from "@/screens/system/use-system";
import { Chart, type ChartSeries } from "@/ui/chart";
import { useChartText } from "@/ui/chart-text";
import { Card } from "@/ui/page";
import { Unread } from "@/ui/states";
import { Dot } from "@/ui/status";
import { joined } from "./recorded";
import { useRange } from "./use-range";
import { useDrawable, useRecorded } from "./use-series";

const LINE_PX = 24;

export function Platform({ height }: { height: number }): ReactNode {
  const t = useText();
  const { data } = useSystem();
  return (
    <Card
      title={t.overview.lag}
      aside={
        data !== undefined && (
          <span className="flex gap-3">
            <Health name={t.overview.nats} said={statusOf(data, "nats")} />
            <Health name={t.overview.postgres} said={statusOf(data, "postgres")} />
          </span>
        )
      }
    >
      <Lag height={height - LINE_PX} />
      <p className="truncate text-xs text-ink-3" style={{ height: LINE_PX, lineHeight: `${LINE_PX}px` }}>
        {data !== undefined && (
          <Link to="/system" className="underline-offset-2 hover:underline">
            <Worst system={data} />
          </Link>
        )}
      </p>
    </Card>
  );
}

export function Lag({ height }: { height: number }): ReactNode {
  const t = useChartText();
  const format = useFormat();
  const range = useRange();
  const isPast = usePast() !== null;
  const read = useRecorded();
  const recorded = useDrawable(read.data);
  const looks = useLooks();
  const series = useMemo<ChartSeries[]>(() => [{ label: t.overview.worst, colour: "--online", kind: "line" }], [t]);
  const data = useMemo(() => {
    if (read.data === undefined) return [[], []] as never;
    const { times, values } = joined(read.data, range === "15m" && !isPast ? looks : []);
    return [times, values] as never;
  }, [read.data, range, isPast, looks]);
  if (read.data === undefined) {
    return (
      <div style={{ height }} className="flex flex-col justify-center">
        <Unread of={read} />
      </div>
    );
  }
  return (
    <Chart
      label={t.charts.lagLabel(t.charts.over[range])}
      series={series}
      data={data}
      stepS={recorded.stepS}
      gaps={recorded.gaps}
      marks={recorded.marks}
      height={height}
      least={1}
      format={(seconds) => `${format.number(seconds)} s`}
    />
  );
}

/** In one line: a partition that accepts no commands, one that is far behind, or that all is well. */
function Worst({ system }: { system: System }): ReactNode {
  const t = useText();
  const format = useFormat();
  const refusing = system.partitions.find((one) => one.refusal !== null);
  if (refusing?.refusal != null)
    return (
      <span className="text-error-ink" title={refusing.refusal.why}>
        {t.overview.refuses(placeOf(refusing), t.system.refusals[refusing.refusal.code])}
      </span>
    );
  const late = system.partitions.find((one) => (one.behind ?? 0) > BEHIND_IS_FINE);
  if (late !== undefined)
    return <span className="text-held-ink">{t.overview.late(placeOf(late), format.number(late.behind ?? 0))}</span>;
  const commits = system.partitions.reduce((sum, one) => sum + one.log_seq, 0);
  return t.overview.allLed(format.number(commits));
}

function statusOf(system: System, name: string): string {
  return system.dependencies.find((one) => one.name === name)?.status ?? "";
}

function Health({ name, said }: { name: string; said: string }): ReactNode {
  const t = useText();
  const isWell = said === "connected";
  return (
    <span className="flex items-center gap-1.5 text-xs text-ink-3" title={isWell ? t.overview.connected : said}>
      <Dot tone={isWell ? "online" : "error"} />
      {name}
      {!isWell && <span className="text-error-ink">{said}</span>}
    </span>
  );
}
