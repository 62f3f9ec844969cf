/** Which processes are connected to the database, by the names that they give themselves. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { Card } from "@/ui/page";
import { Loading } from "@/ui/states";
import { useSystem } from "./use-system";

export function Processes(): ReactNode {
  const t = useText();
  const format = useFormat();
  const { data } = useSystem();
  return (
    <Card title={t.system.processes}>
      {data === undefined ? (
        <Loading isSmall />
      ) : data.connections.length === 0 ? (
        <p className="text-sm text-ink-3">{t.system.noProcesses}</p>
      ) : (
        <ul className="-mr-2 flex max-h-44 flex-col gap-1 overflow-y-auto pr-2 text-sm">
          {data.connections.map((one) => (
            <li key={one.name} className="flex items-baseline justify-between gap-3">
              <span className="min-w-0 truncate" title={`${one.name} · ${format.full(one.since)}`}>
                {one.name}
              </span>
              <span className="shrink-0 text-xs text-ink-3">{t.system.connections(one.connections, one.active)}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
