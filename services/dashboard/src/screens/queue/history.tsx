/** Jobs that have ended, newest first, page by page. */
import { type ReactNode, useDeferredValue, useMemo, useState } from "react";
import { useMay } from "@/app/context";
import { type Past, usePast } from "@/app/past";
import { asRead, useLivePages } from "@/app/use-rows";
import { codeText } from "@/farm/code";
import { JobBar } from "@/farm/job-progress";
import { useOperateText } from "@/farm/operate-words";
import { targetText } from "@/farm/target-text";
import type { Exported } from "@/lib/export/export";
import type { Dictionary } from "@/lib/i18n/en";
import { type ListOf, newestFirst } from "@/lib/live/overlay";
import { containing, type Query } from "@/lib/rest/read";
import type { JobRow } from "@/lib/rest/rows";
import { orderOf, type Sort, sortIn } from "@/lib/sort/sort";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { type Chosen, type Column, DataTable, RowButton } from "@/ui/data-table";
import { NextPage } from "@/ui/more";
import { Empty, Unread } from "@/ui/states";
import { JobBadge } from "@/ui/status";
import { AgainBar } from "./again-bar";
import { ENDED, HISTORY_SORTS, type QueueSearch } from "./search";

export function historyQuery(search: QueueSearch, q: string, past: Past | null): Query {
  const text = q.trim();
  const status = search.ended === undefined ? `in.(${ENDED.join(",")})` : `eq.${search.ended}`;
  const named: Query = text === "" ? {} : { or: `(title.${containing(text)},target_url.${containing(text)})` };
  const then: Query = past === null ? {} : { ended_at: `lte.${past.iso}` };
  return { status, ...named, ...then };
}

/** What an export of the history has: all that match, in the order that is shown. */
export function historyExport(search: QueueSearch, past: Past | null): Exported {
  const query = historyQuery(search, search.q ?? "", past);
  return { relation: "jobs", query: { ...query, order: orderOf(sortIn(search.order, HISTORY_SORTS)) } };
}

function useHistory(search: QueueSearch) {
  const past = usePast();
  const query = historyQuery(search, useDeferredValue(search.q ?? ""), past);
  const sort = useMemo(() => {
    const asked = sortIn(search.order, HISTORY_SORTS);
    return asked && { ...asked, isNullable: asked.by !== "status" };
  }, [search.order]);
  return useLivePages<JobRow, JobRow>("jobs", {
    queryKey: ["ended-jobs", query],
    query,
    sort,
    list: useMemo(() => endedList(search.ended, search.q), [search.ended, search.q]),
    shownAs: asRead,
  });
}

export function endedList(ended: QueueSearch["ended"], q: string | undefined): ListOf<JobRow> {
  const text = (q ?? "").trim().toLowerCase();
  return {
    keyOf: (job) => job.id,
    rowOf: (told) => told as unknown as JobRow,
    changedAt: (job) => job.updated_at,
    compare: newestFirst((job) => job.created_at),
    isShown: (job) =>
      job.ended_at !== null &&
      (ended === undefined || job.status === ended) &&
      (text === "" || `${job.title ?? ""}\n${job.target_url}`.toLowerCase().includes(text)),
  };
}

interface HistoryProps {
  readonly search: QueueSearch;
  readonly open: (job: string) => void;
  readonly changeSort: (sort: Sort | undefined) => void;
}

export function History({ search, open, changeSort }: HistoryProps): ReactNode {
  const t = useOperateText();
  const format = useFormat();
  const mayCreate = useMay("create-job");
  const [chosen, setChosen] = useState<Chosen>({});
  const { answer, found: jobs } = useHistory(search);
  const columns = useMemo<Column<JobRow>[]>(
    () => [
      {
        id: "job",
        header: t.queue.job,
        sort: { by: "title" },
        className: "w-[20%] @max-4xl:w-[26%]",
        cell: (job) => <RowButton onClick={() => open(job.id)}>{job.title ?? t.queue.untitled}</RowButton>,
      },
      {
        id: "target",
        header: t.queue.target,
        className: "w-[13%] text-ink-2 @max-4xl:hidden",
        cell: (job) => targetText(t, job.target),
      },
      {
        id: "status",
        header: t.queue.status,
        sort: { by: "status" },
        className: "w-[20%] @max-4xl:w-[25%]",
        cell: (job) => (
          <span className="flex items-center gap-2">
            <JobBadge status={job.status} />
            <span className="truncate text-ink-3" title={reasonText(t, job.end_reason)}>
              {reasonText(t, job.end_reason)}
            </span>
          </span>
        ),
      },
      {
        id: "result",
        header: t.queue.result,
        cell: (job) => (
          <span className="flex items-center gap-3">
            <span className="w-24 shrink-0">
              <JobBar job={job} className="h-1.5" />
            </span>
            <span className="truncate text-ink-2">
              {format.number(job.completed)}
              {job.failed > 0 && <span className="text-error-ink"> · {format.number(job.failed)}</span>}
            </span>
          </span>
        ),
      },
      {
        id: "took",
        header: t.queue.duration,
        className: "w-28 text-right text-ink-2 @max-4xl:hidden",
        cell: (job) =>
          job.ended_at !== null && job.activated_at !== null
            ? format.duration(Date.parse(job.ended_at) - Date.parse(job.activated_at))
            : "–",
      },
      {
        id: "ended",
        header: t.queue.ended,
        sort: { by: "ended_at", isDownFirst: true },
        className: "w-28 text-right text-ink-3",
        cell: (job) => job.ended_at !== null && <Ago at={job.ended_at} />,
      },
    ],
    [t, format, open],
  );
  if (jobs === undefined) return <Unread of={answer} />;
  if (jobs.length === 0) {
    const isNarrow = search.q !== undefined || search.ended !== undefined;
    return <Empty isSmall title={isNarrow ? t.queue.noMatch : t.queue.noHistory} />;
  }
  const selected = mayCreate ? jobs.filter((job) => chosen[job.id]) : [];
  return (
    <>
      {selected.length > 0 && <AgainBar jobs={selected} done={() => setChosen({})} />}
      <DataTable
        label={t.queue.history}
        columns={columns}
        rows={jobs}
        current={search.job}
        open={open}
        sorting={{ sort: sortIn(search.order, HISTORY_SORTS), change: changeSort }}
        selecting={
          mayCreate
            ? {
                selected: chosen,
                onChange: setChosen,
                selectAll: t.operate.selectEnded,
                select: (job) => t.queue.select(job.title ?? t.queue.untitled),
              }
            : undefined
        }
      />
      <NextPage of={answer} />
    </>
  );
}

export function reasonText(t: Dictionary, reason: string | null): string {
  if (reason === null) return "";
  if (Object.hasOwn(t.queue.endReasons, reason))
    return t.queue.endReasons[reason as keyof Dictionary["queue"]["endReasons"]];
  return codeText(t, reason);
}
