/** One test: what became of it, and what it cost. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { EventsLink } from "@/farm/events-link";
import { WorkWhy } from "@/farm/work-why";
import { type LedgerRow, TEST_COLUMNS, type TestRow } from "@/lib/rest/analysis-rows";
import { rows } from "@/lib/rest/read";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { Ledger } from "./ledger";
import { standingOf, type Timeouts, timeoutOf } from "./standing";
import { StandingBadge } from "./tests";
import { useAnalysesText } from "./words";

interface TestPanelProps {
  readonly id: string;
  readonly timeouts: Timeouts;
  readonly openUser: (id: string) => void;
  readonly openRun: (id: string) => void;
  readonly close: () => void;
}

const LINK = "rounded text-left break-all underline-offset-2 hover:underline";

export function TestPanel({ id, timeouts, openUser, openRun, close }: TestPanelProps): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const now = useNow(1_000);
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["tests", "one", id],
    queryFn: async () => {
      const query = { select: TEST_COLUMNS, id: `eq.${id}` };
      return (await rows<TestRow>(client, "saju_tests", query))[0] ?? null;
    },
  });
  const { data } = answer;
  if (data === undefined || data === null) {
    return (
      <SidePanel title={t.analyses.test} subtitle={id} close={close}>
        <Unread of={answer} absent={data === null && t.analyses.notFound} />
      </SidePanel>
    );
  }
  const standing = standingOf(data, timeouts, now);
  const took = Date.parse(data.completed_at ?? new Date(now).toISOString()) - Date.parse(data.created_at);
  const facts: [string, ReactNode][] = [
    [
      t.analyses.user,
      <button key="u" type="button" className={LINK} onClick={() => openUser(data.user_id)}>
        {data.user_id}
      </button>,
    ],
    [t.analyses.tier, data.users?.tier ?? "–"],
    [t.analyses.began, format.full(data.created_at)],
    [t.analyses.took, format.duration(took)],
    [t.analyses.may, format.duration(timeoutOf(timeouts, data.users?.tier))],
  ];
  if (data.result_ref !== null) facts.push([t.analyses.result, data.result_ref]);
  if (data.late_report !== null) facts.push([t.analyses.late, data.late_report]);
  if (data.cleanup_run_id !== null) {
    const run = data.cleanup_run_id;
    facts.push([
      t.analyses.run,
      <button key="r" type="button" className={`${LINK} font-mono text-xs`} onClick={() => openRun(run)}>
        {run}
      </button>,
    ]);
  }
  return (
    <SidePanel
      title={t.analyses.test}
      badge={<StandingBadge standing={standing} />}
      subtitle={<span className="font-mono text-xs">{id}</span>}
      close={close}
    >
      {(data.error_code !== null || data.error_message !== null) && (
        <div className="border-b border-line bg-error-soft px-4 py-2.5 text-sm text-error-ink">
          {data.error_code !== null && <p className="font-medium">{data.error_code}</p>}
          {data.error_message !== null && <p className="break-words">{data.error_message}</p>}
        </div>
      )}
      {data.skipped !== null && (
        <p className="border-b border-line bg-held-soft px-4 py-2.5 text-sm text-held-ink">
          {t.analyses.skipReasons[data.skipped] ?? data.skipped}
        </p>
      )}
      <WorkWhy of={`tests/${id}`} />
      <Section title={t.common.details} aside={<EventsLink entity={id}>{t.analyses.events}</EventsLink>}>
        <Facts facts={facts} />
      </Section>
      <Section title={t.analyses.cost}>
        <Cost id={id} />
      </Section>
    </SidePanel>
  );
}

function Cost({ id }: { id: string }): ReactNode {
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["ledger", "of-test", id],
    queryFn: () => rows<LedgerRow>(client, "test_ledger", { test_id: `eq.${id}`, order: "id.desc" }),
  });
  return answer.data === undefined ? <Unread of={answer} /> : <Ledger lines={answer.data} />;
}
