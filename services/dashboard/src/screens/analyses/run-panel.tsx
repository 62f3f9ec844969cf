/** One cleanup: what it looked for, and each test that it found. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { useActors } from "@/farm/actors";
import { type CleanupRunRow, type CleanupTestRow, RUN_COLUMNS } from "@/lib/rest/analysis-rows";
import { rows } from "@/lib/rest/read";
import { useFormat } from "@/lib/time/format";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { timeoutsOf } from "./standing";
import { useAnalysesText } from "./words";

const TESTS_MAX = 1_000;

interface RunPanelProps {
  readonly id: string;
  readonly known: CleanupRunRow | undefined;
  readonly openTest: (id: string) => void;
  readonly close: () => void;
}

export function RunPanel({ id, known, openTest, close }: RunPanelProps): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const nameOf = useActors();
  const { client } = useApp();
  const read = useQuery({
    queryKey: ["cleanup-runs", id],
    queryFn: async () => {
      const query = { select: RUN_COLUMNS, id: `eq.${id}` };
      return (await rows<CleanupRunRow>(client, "cleanup_runs", query))[0] ?? null;
    },
    enabled: known === undefined,
  });
  const run = known ?? read.data;
  if (run === undefined || run === null) {
    return (
      <SidePanel title={t.analyses.run} subtitle={id} close={close}>
        <Unread of={read} absent={run === null && t.errors.notFound} />
      </SidePanel>
    );
  }
  const timeouts = timeoutsOf(run);
  const tiers = Object.entries(timeouts.byTier).map(([tier, ms]) => `${tier} ${format.duration(ms)}`);
  return (
    <SidePanel title={t.analyses.run} subtitle={format.full(run.started_at)} close={close}>
      <Section title={t.common.details}>
        <Facts
          facts={[
            [t.analyses.trigger, `${t.analyses.triggers[run.trigger]} (${nameOf(run.by)})`],
            run.scheduled_for !== null && [t.analyses.dueAt, format.full(run.scheduled_for)],
            [t.analyses.lookedFor, t.analyses.olderThan(format.duration(timeouts.otherwiseMs))],
            tiers.length > 0 && [t.analyses.tiers, tiers.join(", ")],
            [t.analyses.cleaned, format.number(run.cleaned_count)],
            [t.analyses.skipped, format.number(run.skipped_count)],
            [t.analyses.users, format.number(run.users_count)],
            [t.analyses.took, run.duration_ms === null ? t.analyses.running : `${format.number(run.duration_ms)} ms`],
          ]}
        />
      </Section>
      <Section title={t.analyses.found}>
        <Found run={run} openTest={openTest} />
      </Section>
    </SidePanel>
  );
}

function Found({ run, openTest }: { run: CleanupRunRow; openTest: (id: string) => void }): ReactNode {
  const t = useAnalysesText();
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["cleanup-runs", run.id, "tests", run.status],
    queryFn: () =>
      rows<CleanupTestRow>(client, "cleanup_run_tests", { run_id: `eq.${run.id}`, order: "id", limit: TESTS_MAX }),
  });
  const { data } = answer;
  if (data === undefined) return <Unread of={answer} />;
  if (data.length === 0) return <p className="text-sm text-ink-3">{t.analyses.nothingFound}</p>;
  return (
    <ul>
      {data.map((test) => (
        <li key={test.id} className="border-t border-line first:border-t-0">
          <button
            type="button"
            className="-mx-2 flex h-9 w-[calc(100%+1rem)] items-center gap-2 rounded px-2 text-left text-sm hover:bg-hover"
            onClick={() => openTest(test.test_id)}
          >
            <span className="min-w-0 flex-1 truncate">{test.user_id}</span>
            {test.reason !== null && (
              <span className="truncate text-xs text-ink-3">{t.analyses.skipReasons[test.reason] ?? test.reason}</span>
            )}
            <Badge tone={test.outcome === "skipped" ? "held" : "offline"}>{t.analyses.outcomes[test.outcome]}</Badge>
          </button>
        </li>
      ))}
    </ul>
  );
}
