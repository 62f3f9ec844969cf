/** Read models, and how those that are made anew come along. */
import type { ReactNode } from "react";
import type { ReadModel, RebuildState } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { Bar } from "@/ui/bar";
import { type Column, DataTable, RowButton } from "@/ui/data-table";
import { Part } from "@/ui/part";
import { Loading, Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { differencesOf, isAtWork, shareOf, toneOfStage } from "./rebuilds";
import { useSystem } from "./use-system";
import { WithCode } from "./with-code";

export function ReadModels({
  current,
  open,
}: {
  current: string | undefined;
  open: (rebuild: string) => void;
}): ReactNode {
  const t = useText();
  const answer = useSystem();
  const { data } = answer;
  return (
    <div className="grid items-start gap-x-4 gap-y-6 @5xl:grid-cols-2">
      <Part title={t.system.readModels}>
        {data === undefined ? <Unread of={answer} /> : <Models models={data.read_models} />}
      </Part>
      <Part title={t.system.rebuilds}>
        {data === undefined ? (
          <Loading isSmall />
        ) : (
          <>
            {data.rebuilds.length === 0 && <p className="px-4 pt-3 text-sm text-ink-2">{t.system.noRebuilds}</p>}
            {data.rebuilds.length > 0 && <Rebuilds rebuilds={data.rebuilds} current={current} open={open} />}
            <p className={`px-4 py-2.5 text-xs text-ink-3 ${data.rebuilds.length > 0 ? "border-t border-line" : ""}`}>
              <WithCode text={t.system.rebuildHint} />
            </p>
          </>
        )}
      </Part>
    </div>
  );
}

function Models({ models }: { models: readonly ReadModel[] }): ReactNode {
  const t = useText();
  const columns: Column<ReadModel & { readonly id: string }>[] = [
    { id: "model", header: t.system.readModel, className: "font-medium", cell: (model) => model.schema },
    {
      id: "version",
      header: t.system.formVersion,
      isNamed: true,
      className: "w-20 text-right",
      cell: (model) => model.version,
    },
    {
      id: "since",
      header: t.system.foldedSince,
      className: "w-32 text-right text-ink-3",
      cell: (model) => <Ago at={model.created_at} />,
    },
  ];
  const rows = models.map((model) => ({ ...model, id: model.schema }));
  return <DataTable label={t.system.readModels} columns={columns} rows={rows} />;
}

type Row = Omit<RebuildState, "id"> & { readonly id: string };

function Rebuilds({
  rebuilds,
  current,
  open,
}: {
  rebuilds: readonly RebuildState[];
  current: string | undefined;
  open: (id: string) => void;
}): ReactNode {
  const t = useText();
  const rows = rebuilds.map((rebuild) => ({ ...rebuild, id: String(rebuild.id) }));
  const columns: Column<Row>[] = [
    {
      id: "name",
      header: t.system.readModel,
      className: "w-28",
      cell: (row) => <RowButton onClick={() => open(row.id)}>{row.projection}</RowButton>,
    },
    {
      id: "stage",
      header: t.system.state,
      className: "w-36",
      cell: (row) => <Badge tone={toneOfStage(row.stage)}>{t.system.rebuildStages[row.stage] ?? row.stage}</Badge>,
    },
    {
      id: "folded",
      header: t.system.folded,
      className: "@max-xl:hidden",
      cell: (row) => <Progress rebuild={row} />,
    },
    {
      id: "different",
      header: t.system.different,
      className: "w-36",
      cell: (row) => {
        const differences = differencesOf(row);
        if (differences === null) return <span className="text-ink-3">–</span>;
        return (
          <span className={differences > 0 ? "font-medium text-held-ink" : "text-ink-3"}>
            {differences > 0 ? t.system.differences(differences) : t.system.same}
          </span>
        );
      },
    },
    {
      id: "began",
      header: t.system.began,
      className: "w-28 text-right text-ink-3",
      cell: (row) => <Ago at={row.started_at} />,
    },
  ];
  return <DataTable label={t.system.rebuilds} columns={columns} rows={rows} current={current} open={open} />;
}

export function Progress({ rebuild }: { rebuild: Pick<RebuildState, "folded" | "events" | "stage"> }): ReactNode {
  const t = useText();
  const format = useFormat();
  const share = shareOf(rebuild);
  return (
    <span className="flex items-center gap-3">
      {isAtWork(rebuild.stage) && (
        <Bar
          label={t.system.folded}
          total={1}
          parts={[{ key: "folded", value: share ?? 0, tone: "busy", label: t.system.folded }]}
          className="h-1.5 max-w-40"
        />
      )}
      <span className="shrink-0 text-ink-2">
        {format.number(rebuild.folded)}
        {share !== null && isAtWork(rebuild.stage) && (
          <span className="ml-2 text-ink-3">{format.percent(Math.floor(share * 100) / 100)}</span>
        )}
      </span>
    </span>
  );
}
