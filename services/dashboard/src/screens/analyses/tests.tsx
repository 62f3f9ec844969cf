/** Tests, newest first; of those that are stalled the oldest. */
import { type ReactNode, useDeferredValue, useMemo } from "react";
import { asRead, useLivePages } from "@/app/use-rows";
import type { Exported } from "@/lib/export/export";
import { type ListOf, newestFirst } from "@/lib/live/overlay";
import { TEST_COLUMNS, type TestRow } from "@/lib/rest/analysis-rows";
import { orderOf, type Sort, sortIn } from "@/lib/sort/sort";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { type Column, DataTable, RowButton } from "@/ui/data-table";
import { NextPage } from "@/ui/more";
import { Empty, Unread } from "@/ui/states";
import { Badge, type Tone } from "@/ui/status";
import { type AnalysesSearch, TEST_SORTS } from "./search";
import { isShown, type Standing, standingOf, type Timeouts, testsFilter } from "./standing";
import { useAnalysesText } from "./words";

export const TONES: Record<Standing, Tone> = {
  processing: "busy",
  stalled: "held",
  skipped: "held",
  completed: "online",
  failed: "error",
  cleaned: "offline",
};

export function StandingBadge({ standing }: { standing: Standing }): ReactNode {
  const t = useAnalysesText();
  return <Badge tone={TONES[standing]}>{t.analyses.standings[standing]}</Badge>;
}

/** The tier of its user is not told: a test that was not read yet comes with the next read. */
function testsList(isOldestFirst: boolean): ListOf<TestRow> {
  const byAge = newestFirst<TestRow>((test) => test.created_at);
  return {
    keyOf: (test) => test.id,
    rowOf: (told, read) => (read === undefined ? null : ({ ...told, users: read.users } as unknown as TestRow)),
    changedAt: (test) => test.updated_at,
    isShown: () => true,
    compare: (a, b) => (isOldestFirst ? byAge(b, a) : byAge(a, b)),
  };
}

interface TestsProps {
  readonly search: AnalysesSearch;
  readonly timeouts: Timeouts;
  readonly openTest: (id: string) => void;
  readonly openUser: (id: string) => void;
  readonly changeSort: (sort: Sort | undefined) => void;
}

/** What an export of the tests has. Which of those under way are stalled depends on the time, so it has all of them. */
export function testsExport(search: AnalysesSearch): Exported {
  const filter = testsFilter(search.show ?? "all", search.q ?? "");
  return { relation: "saju_tests", query: { ...filter, order: orderOf(sortIn(search.order, TEST_SORTS)) } };
}

export function Tests({ search, timeouts, openTest, openUser, changeSort }: TestsProps): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const now = useNow(5_000);
  const show = search.show ?? "all";
  const filter = testsFilter(show, useDeferredValue(search.q ?? ""));
  const isOldestFirst = show === "stalled";
  const sort = useMemo(() => {
    const asked = sortIn(search.order, TEST_SORTS);
    return asked && { ...asked, isNullable: false };
  }, [search.order]);
  const { answer, found: tests } = useLivePages<TestRow, TestRow>("saju_tests", {
    queryKey: ["tests", filter, isOldestFirst],
    query: { select: TEST_COLUMNS, ...filter },
    list: useMemo(() => testsList(isOldestFirst), [isOldestFirst]),
    shownAs: asRead,
    isOldestFirst,
    sort,
  });
  if (tests === undefined) return <Unread of={answer} />;
  const found = tests.filter((test) => isShown(show, standingOf(test, timeouts, now)));
  if (found.length === 0 && !answer.hasNextPage) {
    const isNarrow = search.q !== undefined || search.show !== undefined;
    return (
      <Empty
        isSmall
        title={
          show === "stalled" && search.q === undefined
            ? t.analyses.noneStalled
            : isNarrow
              ? t.analyses.noMatch
              : t.analyses.none
        }
      />
    );
  }
  const columns: Column<TestRow>[] = [
    {
      id: "user",
      header: t.analyses.user,
      sort: { by: "user_id" },
      className: "w-[24%]",
      cell: (test) => <RowButton onClick={() => openUser(test.user_id)}>{test.user_id}</RowButton>,
    },
    {
      id: "tier",
      header: t.analyses.tier,
      className: "w-24 text-ink-2 @max-3xl:hidden",
      cell: (test) => test.users?.tier,
    },
    {
      id: "standing",
      header: t.analyses.state,
      cell: (test) => (
        <span className="flex items-center gap-2">
          <StandingBadge standing={standingOf(test, timeouts, now)} />
          <span className="truncate text-ink-2" title={test.error_message ?? undefined}>
            {remark(test)}
          </span>
        </span>
      ),
    },
    {
      id: "quota",
      header: t.analyses.quota,
      className: "w-32 text-ink-2 @max-4xl:hidden",
      cell: (test) => (test.refunded ? t.analyses.givenBack : test.status === "processing" ? "–" : t.analyses.charged),
    },
    {
      id: "took",
      header: t.analyses.took,
      className: "w-28 text-right text-ink-2",
      cell: (test) =>
        format.duration(Date.parse(test.completed_at ?? new Date(now).toISOString()) - Date.parse(test.created_at)),
    },
    {
      id: "began",
      header: t.analyses.began,
      sort: { by: "created_at", isDownFirst: true },
      className: "w-32 text-right text-ink-3",
      cell: (test) => <Ago at={test.created_at} />,
    },
  ];

  function remark(test: TestRow): string {
    if (test.skipped !== null) return t.analyses.skipReasons[test.skipped] ?? test.skipped;
    if (test.late_report !== null) return t.analyses.late;
    return test.reason === "timeout" ? "" : (test.error_message ?? test.error_code ?? "");
  }

  return (
    <>
      <DataTable
        label={t.analyses.tests}
        columns={columns}
        rows={found}
        current={search.test}
        open={openTest}
        sorting={{ sort, change: changeSort }}
      />
      <NextPage of={answer} />
    </>
  );
}
