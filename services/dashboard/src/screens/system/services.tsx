/** Who leads which partition since when, whether it accepts commands, how far its log is, whether the tables keep up. */
import type { ReactNode } from "react";
import type { PartitionState } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { type Column, DataTable } from "@/ui/data-table";
import { Part } from "@/ui/part";
import { Unread } from "@/ui/states";
import { Dot } from "@/ui/status";
import { BEHIND_IS_FINE, placeOf, pointsOf } from "./lag";
import { useLooks, useSystem } from "./use-system";

const WIDTH = 96;
const HEIGHT = 20;
/** From this share of its limit on, a log needs a person; `drover status` has the same number. */
const LOG_IS_FILLING = 0.8;

export function Services(): ReactNode {
  const t = useText();
  const answer = useSystem();
  const { data } = answer;
  return (
    <Part title={t.system.services}>
      {data === undefined ? (
        <Unread of={answer} />
      ) : (
        <>
          <Partitions partitions={data.partitions} />
          <Refusals partitions={data.partitions} />
        </>
      )}
    </Part>
  );
}

type Row = PartitionState & { readonly id: string };

function Partitions({ partitions }: { partitions: readonly PartitionState[] }): ReactNode {
  const t = useText();
  const format = useFormat();
  const looks = useLooks();
  const columns: Column<Row>[] = [
    {
      id: "partition",
      header: t.system.partition,
      className: "w-44 font-medium",
      cell: (row) => (
        <>
          {row.context}
          {row.partition !== "main" && <span className="ml-2 font-normal text-ink-3">{row.partition}</span>}
        </>
      ),
    },
    { id: "leader", header: t.system.leader, cell: (row) => <Leader partition={row} /> },
    {
      id: "log",
      header: t.system.log,
      isNamed: true,
      className: "w-28 text-right",
      cell: (row) => <Log partition={row} />,
    },
    {
      id: "projected",
      header: t.system.projected,
      className: "w-28 text-right text-ink-2 @max-2xl:hidden",
      cell: (row) => (row.projected_seq === null ? t.common.unknown : format.number(row.projected_seq)),
    },
    {
      id: "behind",
      header: t.system.behind,
      isNamed: true,
      className: "w-36 text-right",
      cell: (row) => <Behind partition={row} />,
    },
    {
      id: "lately",
      header: t.system.lately,
      className: "w-36 @max-3xl:hidden",
      cell: (row) => <Spark points={pointsOf(looks, row.id)} label={t.system.lagOf(row.id)} isBehind={isBehind(row)} />,
    },
  ];
  const rows = partitions.map((partition) => ({ ...partition, id: placeOf(partition) }));
  return <DataTable label={t.system.services} columns={columns} rows={rows} />;
}

/** How many commits it has and, if its size has a limit, how full it is. */
function Log({ partition: { log_seq, log_full } }: { partition: PartitionState }): ReactNode {
  const t = useText();
  const format = useFormat();
  return (
    <>
      {format.number(log_seq)}
      {log_full !== null && (
        <span className={`block text-xs ${log_full > LOG_IS_FILLING ? "font-medium text-held-ink" : "text-ink-3"}`}>
          {t.system.full(format.percent(log_full))}
        </span>
      )}
    </>
  );
}

function isBehind({ behind }: PartitionState): boolean {
  return behind !== null && behind > BEHIND_IS_FINE;
}

function Behind({ partition }: { partition: PartitionState }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { behind, lag_s } = partition;
  return (
    <span className={isBehind(partition) ? "font-medium text-held-ink" : "text-ink-2"}>
      {behind === null ? t.common.unknown : format.number(behind)}
      {lag_s !== null && lag_s >= 1 && <span className="ml-2 text-ink-3">{format.duration(lag_s * 1000)}</span>}
    </span>
  );
}

/** Each partition that accepts no commands, with what to do about it. */
function Refusals({ partitions }: { partitions: readonly PartitionState[] }): ReactNode {
  const refusals = partitions.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length === 0) return null;
  return (
    <ul role="alert" className="flex flex-col gap-1 border-t border-line px-4 py-2 text-sm">
      {refusals.map(({ why, remedy }) => (
        <li key={why}>
          <span className="text-error-ink">{why}</span> {remedy}
        </li>
      ))}
    </ul>
  );
}

/** Who holds the lease, for how long, and what is wrong with that. */
function Leader({ partition: { leader, leads_since, refusal } }: { partition: PartitionState }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(10_000);
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Dot tone={refusal === null ? "online" : "error"} />
      {leader === null ? (
        <span className="text-error-ink">{t.system.nobody}</span>
      ) : (
        <span className="truncate" title={leader}>
          {leader}
        </span>
      )}
      {leader !== null && leads_since !== null && (
        <span className="shrink-0 text-xs text-ink-3 @max-lg:hidden" title={format.full(leads_since)}>
          {t.system.leads(format.duration(now - Date.parse(leads_since)))}
        </span>
      )}
      {refusal !== null && refusal.code !== "no_leader" && (
        <span className="shrink-0 text-xs text-error-ink">{t.system.refusals[refusal.code]}</span>
      )}
    </span>
  );
}

function Spark({
  points,
  label,
  isBehind,
}: {
  points: readonly (readonly [number, number])[];
  label: string;
  isBehind: boolean;
}): ReactNode {
  if (points.length === 0) return null;
  return (
    <svg role="img" aria-label={label} width={WIDTH} height={HEIGHT} className="block overflow-visible">
      <title>{label}</title>
      <polyline
        fill="none"
        strokeWidth="1.5"
        strokeLinejoin="round"
        className={isBehind ? "stroke-held" : "stroke-online"}
        points={points.map(([x, y]) => `${(x * WIDTH).toFixed(1)},${(1 + y * (HEIGHT - 2)).toFixed(1)}`).join(" ")}
      />
    </svg>
  );
}
