/** One rebuild: how far it is, and how what the log says differs from what stood there. */
import type { ReactNode } from "react";
import type { RebuildState, RebuiltTable, TableDifference } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { Progress } from "./read-models";
import { toneOfStage } from "./rebuilds";
import { useSystem } from "./use-system";

export function RebuildPanel({ id, close }: { id: string; close: () => void }): ReactNode {
  const t = useText();
  const system = useSystem();
  const rebuild = system.data && (system.data.rebuilds.find((one) => String(one.id) === id) ?? null);
  if (rebuild === undefined || rebuild === null) {
    return (
      <SidePanel title={t.system.rebuilds} close={close}>
        <Unread of={system} absent={rebuild === null && t.errors.notFound} />
      </SidePanel>
    );
  }
  return (
    <SidePanel
      title={t.system.rebuild(rebuild.projection)}
      badge={<Badge tone={toneOfStage(rebuild.stage)}>{t.system.rebuildStages[rebuild.stage] ?? rebuild.stage}</Badge>}
      close={close}
    >
      {rebuild.error !== null && (
        <p className="border-b border-line bg-error-soft px-4 py-2.5 text-sm break-words text-error-ink">
          {rebuild.error}
        </p>
      )}
      {rebuild.stage === "interrupted" && (
        <p className="border-b border-line bg-held-soft px-4 py-2.5 text-sm text-held-ink">
          {t.system.interruptedHint}
        </p>
      )}
      <About rebuild={rebuild} />
      {rebuild.tables !== null && <Tables tables={rebuild.tables} />}
    </SidePanel>
  );
}

function About({ rebuild }: { rebuild: RebuildState }): ReactNode {
  const t = useText();
  const format = useFormat();
  const positions = Object.entries(rebuild.positions ?? {});
  return (
    <Section title={t.common.details}>
      <Facts
        facts={[
          [t.system.folded, <Progress key="folded" rebuild={rebuild} />],
          positions.length > 0 && [
            t.system.positions,
            positions.map(([name, seq]) => `${name} ${format.number(seq)}`).join(", "),
          ],
          [t.system.began, format.full(rebuild.started_at)],
          rebuild.ended_at !== null && [t.system.ended, format.full(rebuild.ended_at)],
          [t.system.machine, rebuild.by],
        ]}
      />
    </Section>
  );
}

function Tables({ tables }: { tables: readonly RebuiltTable[] }): ReactNode {
  const t = useText();
  const format = useFormat();
  const examples = tables.flatMap((table) => table.examples);
  return (
    <>
      <Section title={t.system.tables}>
        <table className="w-full text-sm">
          <thead>
            <tr className="text-left text-xs text-ink-3">
              <th className="pb-1 font-medium">{t.system.tables}</th>
              <th className="pb-1 text-right font-medium">{t.system.rows}</th>
              <th className="pb-1 pl-3 text-right font-medium">{t.system.different}</th>
            </tr>
          </thead>
          <tbody>
            {tables.map((table) => (
              <tr key={table.table}>
                <td className="py-0.5 break-all">{table.table}</td>
                <td className="py-0.5 text-right text-ink-2">{format.number(table.rows)}</td>
                <td
                  className={`py-0.5 pl-3 text-right ${table.different > 0 ? "font-medium text-held-ink" : "text-ink-3"}`}
                >
                  {format.number(table.different)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      {examples.length > 0 && (
        <Section title={t.system.examples}>
          <ul className="flex flex-col gap-2">
            {examples.map((example) => (
              <Example key={`${example.table} ${example.key}`} example={example} />
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Example({ example }: { example: TableDifference }): ReactNode {
  const t = useText();
  return (
    <li className="text-sm">
      <p className="break-all">
        <span className="font-medium">{example.table}</span> <span className="font-mono text-xs">{example.key}</span>{" "}
        <span className="text-ink-3">{t.system.kinds[example.kind] ?? example.kind}</span>
      </p>
      {Object.entries(example.columns ?? {}).map(([column, [log, table]]) => (
        <dl
          key={column}
          className="mt-1 grid grid-cols-[3.5rem_1fr] gap-x-2 rounded bg-sunken px-2 py-1 font-mono text-xs"
        >
          <dt className="col-span-2 text-ink-2">{column}</dt>
          <dt className="text-ink-3">{t.system.logSays}</dt>
          <dd className="break-all text-online-ink">{String(log)}</dd>
          <dt className="text-ink-3">{t.system.tableSaid}</dt>
          <dd className="break-all text-error-ink">{String(table)}</dd>
        </dl>
      ))}
    </li>
  );
}
