/** Who leads which partition since when, whether it accepts commands, how far its log is, whether the tables keep up. */
import type { ReactNode } from "react";
import type { PartitionState } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Part } from "@/ui/part";
import { ErrorState, Loading } from "@/ui/states";
import { Dot } from "@/ui/status";
import { BEHIND_IS_FINE, type Look, placeOf, pointsOf } from "./lag";
import { useLooks, useSystem } from "./use-system";

const WIDTH = 96;
const HEIGHT = 20;

export function Services(): ReactNode {
  const t = useText();
  const { data, error, refetch } = useSystem();
  const looks = useLooks();
  return (
    <Part title={t.system.services}>
      {error !== null && data === undefined ? (
        <ErrorState isSmall error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading isSmall />
      ) : (
        <>
          <table aria-label={t.system.services} className="w-full table-fixed border-collapse text-sm">
            <thead>
              <tr className="border-b border-line text-left text-xs text-ink-3">
                <th scope="col" className="w-44 px-3 py-2 pl-4 font-medium">
                  {t.system.partition}
                </th>
                <th scope="col" className="px-3 font-medium">
                  {t.system.leader}
                </th>
                <th scope="col" className="w-28 px-3 text-right font-medium">
                  {t.system.log}
                </th>
                <th scope="col" className="w-28 px-3 text-right font-medium">
                  {t.system.projected}
                </th>
                <th scope="col" className="w-36 px-3 text-right font-medium">
                  {t.system.behind}
                </th>
                <th scope="col" className="w-36 px-3 pr-4 font-medium @max-3xl:hidden">
                  {t.system.lately}
                </th>
              </tr>
            </thead>
            <tbody>
              {data.partitions.map((partition) => (
                <Line key={placeOf(partition)} partition={partition} looks={looks} />
              ))}
            </tbody>
          </table>
          <Refusals partitions={data.partitions} />
        </>
      )}
    </Part>
  );
}

function Line({ partition, looks }: { partition: PartitionState; looks: readonly Look[] }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { behind, projected_seq, lag_s } = partition;
  const isBehind = behind !== null && behind > BEHIND_IS_FINE;
  const place = placeOf(partition);
  return (
    <tr className="h-10 border-b border-line last:border-b-0">
      <th scope="row" className="truncate px-3 pl-4 text-left font-medium">
        {partition.context}
        {partition.partition !== "main" && <span className="ml-2 font-normal text-ink-3">{partition.partition}</span>}
      </th>
      <td className="px-3">
        <Leader partition={partition} />
      </td>
      <td className="px-3 text-right">{format.number(partition.log_seq)}</td>
      <td className="px-3 text-right text-ink-2">
        {projected_seq === null ? t.common.unknown : format.number(projected_seq)}
      </td>
      <td className={`px-3 text-right ${isBehind ? "font-medium text-held-ink" : "text-ink-2"}`}>
        {behind === null ? t.common.unknown : format.number(behind)}
        {lag_s !== null && lag_s >= 1 && <span className="ml-2 text-ink-3">{format.duration(lag_s * 1000)}</span>}
      </td>
      <td className="px-3 pr-4 @max-3xl:hidden">
        <Spark points={pointsOf(looks, place)} label={t.system.lagOf(place)} isBehind={isBehind} />
      </td>
    </tr>
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
        <span className="shrink-0 text-xs text-ink-3" title={format.full(leads_since)}>
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
