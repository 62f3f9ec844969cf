/** Analyses: which tests are under way, stalled or cleaned up, and what the cleanups did. */
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useOverlaid, useReadAfter } from "@/app/use-rows";
import { useEscape } from "@/lib/keys/use-keys";
import { type ListOf, newestFirst } from "@/lib/live/overlay";
import { type CleanupRunRow, RUN_COLUMNS, TEST_COLUMNS, type TestRow } from "@/lib/rest/analysis-rows";
import { rows } from "@/lib/rest/read";
import { sortText } from "@/lib/sort/sort";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Segmented } from "@/ui/field";
import { Figure } from "@/ui/figure";
import { Page } from "@/ui/page";
import { Part } from "@/ui/part";
import { SearchBox } from "@/ui/search-box";
import { Unread } from "@/ui/states";
import { RunNow } from "./run-now";
import { RunPanel } from "./run-panel";
import { Runs } from "./runs";
import { type AnalysesSearch, SHOWS } from "./search";
import { isShown, standingOf, type Timeouts, timeoutsOf } from "./standing";
import { TestPanel } from "./test-panel";
import { Tests, testsExport } from "./tests";
import { UserPanel } from "./user-panel";
import { useAnalysesText } from "./words";

/** Tests are shown with what users they are of, which is not told with them. */
const KEYS = [["tests"], ["tests-under-way"], ["ledger"], ["analysis-user"]];
const RUNS_SHOWN = 50;
const UNDER_WAY_MAX = 1_000;
const DAY_MS = 86_400_000;

const NO_RUNS: readonly CleanupRunRow[] = [];
const RUNS: ListOf<CleanupRunRow> = {
  keyOf: (run) => run.id,
  rowOf: (told) => told as unknown as CleanupRunRow,
  changedAt: () => null,
  isShown: () => true,
  compare: newestFirst((run) => run.started_at),
};

export function Analyses(): ReactNode {
  const t = useAnalysesText();
  const { client } = useApp();
  const search = useSearch({ from: "/inside/analyses" });
  usePageTitle(t.analyses.title);
  useReadAfter(["saju_tests", "test_ledger"], KEYS);
  const change = useChange<AnalysesSearch>("/analyses");
  const shut = { test: undefined, user: undefined, run: undefined };
  const close = () => change(shut);
  const openTest = (test: string) => change({ ...shut, test });
  const openUser = (user: string) => change({ ...shut, user });
  const openRun = (run: string) => change({ ...shut, run });
  useEscape(close);
  const runs = useQuery({
    queryKey: ["cleanup-runs"],
    queryFn: () =>
      rows<CleanupRunRow>(client, "cleanup_runs", { select: RUN_COLUMNS, order: "started_at.desc", limit: RUNS_SHOWN }),
  });
  const known = useOverlaid("cleanup_runs", runs.data ?? NO_RUNS, RUNS, { isAll: false, queryKey: ["cleanup-runs"] });
  const timeouts = timeoutsOf(known[0]);
  const panel =
    search.test !== undefined ? (
      <TestPanel
        key={search.test}
        id={search.test}
        timeouts={timeouts}
        openUser={openUser}
        openRun={openRun}
        close={close}
      />
    ) : search.user !== undefined ? (
      <UserPanel key={search.user} id={search.user} openTest={openTest} close={close} />
    ) : search.run !== undefined ? (
      <RunPanel
        key={search.run}
        id={search.run}
        known={known.find((run) => run.id === search.run)}
        openTest={openTest}
        close={close}
      />
    ) : undefined;
  return (
    <Page title={t.analyses.title} panel={panel}>
      <div className="page-body">
        <div className="flex flex-col gap-6">
          <Figures runs={runs.data && known} timeouts={timeouts} />
          <Part
            title={t.analyses.runs}
            aside={
              <div className="flex flex-wrap gap-2">
                <RunNow
                  isAsking={search.clean === true}
                  ask={(isAsking) => change({ clean: isAsking || undefined })}
                  openRun={openRun}
                />
                <ExportButton
                  of={t.analyses.runs}
                  what={() => ({ relation: "cleanup_runs", query: { order: "started_at.desc" } })}
                />
              </div>
            }
          >
            {runs.data === undefined ? <Unread of={runs} /> : <Runs runs={known} current={search.run} open={openRun} />}
          </Part>
          <Part
            title={t.analyses.tests}
            aside={
              <div className="flex flex-wrap gap-2 max-sm:w-full">
                <Segmented
                  label={t.analyses.state}
                  value={search.show ?? "all"}
                  choices={SHOWS.map((value) => ({ value, label: t.analyses.shows[value] }))}
                  onChange={(show) => change({ show: show === "all" ? undefined : show })}
                />
                <SearchBox
                  value={search.q ?? ""}
                  hint={t.analyses.searchHint}
                  className="w-52 max-sm:grow"
                  onChange={(q) => change({ q: q || undefined })}
                />
                <ExportButton of={t.analyses.tests} what={() => testsExport(search)} />
              </div>
            }
          >
            <Tests
              search={search}
              timeouts={timeouts}
              openTest={openTest}
              openUser={openUser}
              changeSort={(sort) => change({ order: sortText(sort) })}
            />
          </Part>
        </div>
      </div>
    </Page>
  );
}

function Figures({ runs, timeouts }: { runs: readonly CleanupRunRow[] | undefined; timeouts: Timeouts }): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const now = useNow(5_000);
  const { client } = useApp();
  const { data: underWay } = useQuery({
    queryKey: ["tests-under-way"],
    queryFn: () =>
      rows<TestRow>(client, "saju_tests", {
        select: TEST_COLUMNS,
        status: "eq.processing",
        order: "created_at",
        limit: UNDER_WAY_MAX,
      }),
  });
  const standings = underWay?.map((test) => standingOf(test, timeouts, now));
  const processing = standings?.filter((standing) => isShown("processing", standing)).length;
  const stalled = standings?.filter((standing) => isShown("stalled", standing)).length;
  const skipped = standings?.filter((standing) => standing === "skipped").length ?? 0;
  const ofDay = runs?.filter((run) => now - Date.parse(run.started_at) < DAY_MS) ?? [];
  const cleaned = ofDay.reduce((sum, run) => sum + run.cleaned_count, 0);
  const last = runs?.[0];
  const isMore = underWay?.length === UNDER_WAY_MAX;
  return (
    <div className="grid grid-cols-2 gap-4 xl:grid-cols-4">
      <Figure
        name={t.analyses.figures.underWay}
        value={processing === undefined ? "…" : `${format.number(processing)}${isMore ? "+" : ""}`}
        remark={t.analyses.figures.underWayRemark}
      />
      <Figure
        name={t.analyses.figures.stalled}
        value={
          stalled === undefined ? (
            "…"
          ) : (
            <span className={stalled > 0 ? "text-held-ink" : ""}>{format.number(stalled)}</span>
          )
        }
        remark={skipped > 0 ? t.analyses.figures.skippedRemark(skipped) : t.analyses.figures.stalledRemark}
      />
      <Figure
        name={t.analyses.figures.cleaned}
        value={runs === undefined ? "…" : format.number(cleaned)}
        remark={t.analyses.figures.cleanedRemark(ofDay.length)}
      />
      <Figure
        name={t.analyses.figures.last}
        value={runs === undefined ? "…" : last === undefined ? t.common.never : format.ago(last.started_at, now)}
        remark={last === undefined ? "" : t.analyses.figures.lastRemark(last.cleaned_count, last.skipped_count)}
      />
    </div>
  );
}
