/** Cleanups: when each ran, and what it found. */
import { type ReactNode, useState } from "react";
import type { CleanupRunRow } from "@/lib/rest/analysis-rows";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { type Column, DataTable, RowButton } from "@/ui/data-table";
import { More } from "@/ui/more";
import { Empty } from "@/ui/states";
import { Badge } from "@/ui/status";
import { useAnalysesText } from "./words";

/** The last ones say how it goes; who wants to know more asks. */
const FIRST_SHOWN = 4;

export function Runs({
  runs,
  current,
  open,
}: {
  runs: readonly CleanupRunRow[];
  current: string | undefined;
  open: (id: string) => void;
}): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const [isAll, setIsAll] = useState(false);
  if (runs.length === 0) return <Empty isSmall title={t.analyses.noRuns} hint={t.analyses.noRunsHint} />;
  const columns: Column<CleanupRunRow>[] = [
    {
      id: "when",
      header: t.analyses.when,
      className: "w-[24%]",
      cell: (run) => (
        <RowButton onClick={() => open(run.id)}>
          <Ago at={run.started_at} />
        </RowButton>
      ),
    },
    {
      id: "trigger",
      header: t.analyses.trigger,
      className: "text-ink-2",
      cell: (run) => t.analyses.triggers[run.trigger],
    },
    {
      id: "status",
      header: t.analyses.state,
      className: "w-28",
      cell: (run) => (
        <Badge tone={run.status === "running" ? "busy" : run.skipped_count > 0 ? "held" : "online"}>
          {run.status === "running" ? t.analyses.running : t.analyses.finished}
        </Badge>
      ),
    },
    {
      id: "cleaned",
      header: t.analyses.cleaned,
      isNamed: true,
      className: "w-24 text-right font-medium",
      cell: (run) => format.number(run.cleaned_count),
    },
    {
      id: "skipped",
      header: t.analyses.skipped,
      isNamed: true,
      className: "w-24 text-right",
      cell: (run) => (
        <span className={run.skipped_count > 0 ? "text-held-ink" : "text-ink-3"}>
          {format.number(run.skipped_count)}
        </span>
      ),
    },
    {
      id: "users",
      header: t.analyses.users,
      className: "w-24 text-right text-ink-2 @max-3xl:hidden",
      cell: (run) => format.number(run.users_count),
    },
    {
      id: "took",
      header: t.analyses.took,
      className: "w-24 text-right text-ink-3 @max-3xl:hidden",
      cell: (run) => (run.duration_ms === null ? "–" : `${format.number(run.duration_ms)} ms`),
    },
  ];
  const shown = isAll ? runs : runs.slice(0, FIRST_SHOWN);
  return (
    <>
      <DataTable label={t.analyses.runs} columns={columns} rows={shown} current={current} open={open} />
      {shown.length < runs.length && <More isBusy={false} show={() => setIsAll(true)} />}
    </>
  );
}
