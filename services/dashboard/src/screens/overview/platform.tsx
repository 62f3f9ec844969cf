/** The platform under the farm: how old the tables are that everything is read from, and whether somebody must look. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import type { System } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { BEHIND_IS_FINE, placeOf } from "@/screens/system/lag";
import { useLooks, useSystem } from "@/screens/system/use-system";
import { Chart, type ChartSeries } from "@/ui/chart";
import { Card } from "@/ui/page";
import { Dot } from "@/ui/status";

const SHOWN_S = 900;
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

function Lag({ height }: { height: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const looks = useLooks();
  const series = useMemo<ChartSeries[]>(() => [{ label: t.overview.worst, colour: "--online", kind: "line" }], [t]);
  const data = useMemo(() => {
    const last = (looks.at(-1)?.at ?? Date.now()) / 1000;
    const times = looks.map((look) => look.at / 1000);
    // From where the others begin: what was before the first look is not known.
    return [
      [last - SHOWN_S, ...times],
      [null, ...looks.map((look) => look.lagS)],
    ] as never;
  }, [looks]);
  return (
    <Chart
      label={t.overview.lagLabel}
      series={series}
      data={data}
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
