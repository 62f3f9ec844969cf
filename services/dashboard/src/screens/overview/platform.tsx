/** The platform under the farm: who leads, how far the logs are, and whether the tables keep up. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import type { PlatformStatus } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { Card } from "@/ui/page";
import { ErrorState, Loading } from "@/ui/states";
import { Dot } from "@/ui/status";

const LOOK_EVERY_MS = 5_000;
/** Fewer are on their way at any moment. */
const BEHIND_IS_FINE = 50;

export function Platform(): ReactNode {
  const t = useText();
  const { client } = useApp();
  const { data, error, refetch } = useQuery({
    queryKey: ["status"],
    queryFn: () => client.json<PlatformStatus>("/api/status"),
    refetchInterval: LOOK_EVERY_MS,
  });
  return (
    <Card
      title={t.overview.platform}
      aside={
        data !== undefined && (
          <span className="flex gap-3">
            <Health name={t.overview.nats} said={data.nats} />
            <Health name={t.overview.postgres} said={data.postgres} />
          </span>
        )
      }
    >
      {error !== null && data === undefined ? (
        <ErrorState isSmall error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading isSmall />
      ) : (
        <Partitions status={data} />
      )}
    </Card>
  );
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

function Partitions({ status }: { status: PlatformStatus }): ReactNode {
  const t = useText();
  const format = useFormat();
  const isMany = (context: string) => status.partitions.filter((one) => one.context === context).length > 1;
  return (
    <div className="max-h-[8.75rem] overflow-y-auto">
      <table className="w-full text-sm">
        <thead className="sticky top-0 bg-surface text-left text-xs text-ink-3">
          <tr>
            <th className="pb-1 font-medium">{t.overview.context}</th>
            <th className="pb-1 font-medium">{t.overview.leader}</th>
            <th className="pb-1 text-right font-medium">{t.overview.log}</th>
            <th className="pb-1 pl-3 text-right font-medium">{t.overview.behind}</th>
          </tr>
        </thead>
        <tbody>
          {status.partitions.map((one) => (
            <tr key={`${one.context} ${one.partition}`}>
              <td className="py-0.5">{isMany(one.context) ? `${one.context} ${one.partition}` : one.context}</td>
              <td className="max-w-28 truncate py-0.5 text-ink-2" title={one.leader ?? undefined}>
                {one.leader ?? <span className="text-error-ink">{t.overview.nobody}</span>}
              </td>
              <td className="py-0.5 text-right text-ink-2">{format.number(one.log_seq)}</td>
              <td
                className={`py-0.5 text-right ${(one.behind ?? 0) > BEHIND_IS_FINE ? "text-held-ink" : "text-ink-3"}`}
              >
                {one.behind === null ? "–" : format.number(one.behind)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
