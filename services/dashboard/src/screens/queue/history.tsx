/** Jobs that have ended, newest first, page by page. */
import { type ReactNode, useDeferredValue, useMemo } from "react";
import { usePast } from "@/app/past";
import { asRead, useLivePages } from "@/app/use-rows";
import { codeText } from "@/farm/code";
import { JobBar } from "@/farm/job-progress";
import { targetText } from "@/farm/target-text";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";
import { type ListOf, newestFirst } from "@/lib/live/overlay";
import { containing, type Query } from "@/lib/rest/read";
import type { JobRow } from "@/lib/rest/rows";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { type Column, DataTable, RowButton } from "@/ui/data-table";
import { NextPage } from "@/ui/more";
import { Empty, Unread } from "@/ui/states";
import { JobBadge } from "@/ui/status";
import { ENDED, type QueueSearch } from "./search";

function useHistory(search: QueueSearch) {
  const past = usePast();
  const text = useDeferredValue(search.q ?? "").trim();
  const status = search.ended === undefined ? `in.(${ENDED.join(",")})` : `eq.${search.ended}`;
  const named: Query = text === "" ? {} : { or: `(title.${containing(text)},target_url.${containing(text)})` };
  const then: Query = past === null ? {} : { ended_at: `lte.${past.iso}` };
  return useLivePages<JobRow, JobRow>("jobs", {
    queryKey: ["ended-jobs", status, text, past?.iso],
    query: { status, ...named, ...then },
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

export function History({ search, open }: { search: QueueSearch; open: (job: string) => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { answer, found: jobs } = useHistory(search);
  if (jobs === undefined) return <Unread of={answer} />;
  if (jobs.length === 0) {
    const isNarrow = search.q !== undefined || search.ended !== undefined;
    return <Empty isSmall title={isNarrow ? t.queue.noMatch : t.queue.noHistory} />;
  }
  const columns: Column<JobRow>[] = [
    {
      id: "job",
      header: t.queue.job,
      className: "w-[26%]",
      cell: (job) => <RowButton onClick={() => open(job.id)}>{job.title ?? t.queue.untitled}</RowButton>,
    },
    {
      id: "target",
      header: t.queue.target,
      className: "w-[16%] text-ink-2 @max-3xl:hidden",
      cell: (job) => targetText(t, job.target),
    },
    {
      id: "status",
      header: t.queue.status,
      className: "w-[20%]",
      cell: (job) => (
        <span className="flex items-center gap-2">
          <JobBadge status={job.status} />
          <span className="truncate text-ink-3">{reasonText(t, job.end_reason)}</span>
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
      className: "w-28 text-right text-ink-2 @max-3xl:hidden",
      cell: (job) =>
        job.ended_at !== null && job.activated_at !== null
          ? format.duration(Date.parse(job.ended_at) - Date.parse(job.activated_at))
          : "–",
    },
    {
      id: "ended",
      header: t.queue.ended,
      className: "w-28 text-right text-ink-3",
      cell: (job) => job.ended_at !== null && <Ago at={job.ended_at} />,
    },
  ];
  return (
    <>
      <DataTable label={t.queue.history} columns={columns} rows={jobs} current={search.job} open={open} />
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
