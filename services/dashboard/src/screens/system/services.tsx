/** Who leads which partition, how far its log is, and whether the tables keep up. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { useApp } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import type { PartitionStatus, PlatformStatus } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { Part } from "@/ui/part";
import { ErrorState, Loading } from "@/ui/states";
import { Dot } from "@/ui/status";
import { BEHIND_IS_FINE, type Look, placeOf, pointsOf, withLook } from "./lag";

const LOOK_EVERY_MS = 5_000;
const WIDTH = 96;
const HEIGHT = 20;

export function usePlatformStatus() {
  const { client } = useApp();
  return useQuery({
    queryKey: ["status"],
    queryFn: () => client.json<PlatformStatus>("/api/status"),
    refetchInterval: LOOK_EVERY_MS,
  });
}

export function Services(): ReactNode {
  const t = useText();
  const { data, error, refetch } = usePlatformStatus();
  const [looks, setLooks] = useState<readonly Look[]>([]);
  useEffect(() => {
    if (data !== undefined) setLooks((before) => withLook(before, data));
  }, [data]);
  return (
    <Part title={t.system.services}>
      {error !== null && data === undefined ? (
        <ErrorState isSmall error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading isSmall />
      ) : (
        <table aria-label={t.system.services} className="w-full table-fixed border-collapse text-sm">
          <thead>
            <tr className="border-b border-line text-left text-xs text-ink-3">
              <th scope="col" className="px-3 py-2 pl-4 font-medium">
                {t.system.partition}
              </th>
              <th scope="col" className="px-3 font-medium">
                {t.system.leader}
              </th>
              <th scope="col" className="w-32 px-3 text-right font-medium">
                {t.system.log}
              </th>
              <th scope="col" className="w-32 px-3 text-right font-medium">
                {t.system.projected}
              </th>
              <th scope="col" className="w-28 px-3 text-right font-medium">
                {t.system.behind}
              </th>
              <th scope="col" className="w-36 px-3 pr-4 font-medium">
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
      )}
    </Part>
  );
}

function Line({ partition, looks }: { partition: PartitionStatus; looks: readonly Look[] }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { leader, behind, projected_seq } = partition;
  const isBehind = behind !== null && behind > BEHIND_IS_FINE;
  const place = placeOf(partition);
  return (
    <tr className="h-10 border-b border-line last:border-b-0">
      <th scope="row" className="px-3 pl-4 text-left font-medium">
        {partition.context}
        {partition.partition !== "main" && <span className="ml-2 font-normal text-ink-3">{partition.partition}</span>}
      </th>
      <td className="truncate px-3">
        <span className="flex items-center gap-2">
          <Dot tone={leader === null ? "error" : "online"} />
          {leader ?? <span className="text-error-ink">{t.system.nobody}</span>}
        </span>
      </td>
      <td className="px-3 text-right">{format.number(partition.log_seq)}</td>
      <td className="px-3 text-right text-ink-2">
        {projected_seq === null ? t.common.unknown : format.number(projected_seq)}
      </td>
      <td className={`px-3 text-right ${isBehind ? "font-medium text-held-ink" : "text-ink-2"}`}>
        {behind === null ? t.common.unknown : format.number(behind)}
      </td>
      <td className="px-3 pr-4">
        <Spark points={pointsOf(looks, place)} label={t.system.lagOf(place)} isBehind={isBehind} />
      </td>
    </tr>
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
