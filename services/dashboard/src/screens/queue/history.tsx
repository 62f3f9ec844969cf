/** Jobs that have ended, newest first, page by page. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useDeferredValue, useEffect, useState } from "react";
import { useApp, useLive } from "@/app/context";
import { usePast } from "@/app/past";
import { codeText } from "@/farm/code";
import { JobBar } from "@/farm/job-progress";
import { targetText } from "@/farm/target-text";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";
import { containing, type Query, rows } from "@/lib/rest/read";
import type { JobRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { type Column, DataTable, RowButton } from "@/ui/data-table";
import { Empty, ErrorState, Loading } from "@/ui/states";
import { JobBadge } from "@/ui/status";
import { ENDED, type QueueSearch } from "./search";

const PAGE = 50;

export function useHistory(search: QueueSearch) {
  const { client } = useApp();
  const past = usePast();
  const text = useDeferredValue(search.q ?? "").trim();
  const status = search.ended === undefined ? `in.(${ENDED.join(",")})` : `eq.${search.ended}`;
  return useInfiniteQuery({
    queryKey: ["ended-jobs", status, text, past?.iso],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const query: Query = { status, order: "created_at.desc", limit: PAGE };
      const older: Query = pageParam === "" ? {} : { created_at: `lt.${pageParam}` };
      const named: Query = text === "" ? {} : { or: `(title.${containing(text)},target_url.${containing(text)})` };
      const then: Query = past === null ? {} : { ended_at: `lte.${past.iso}` };
      return rows<JobRow>(client, "jobs", { ...query, ...older, ...named, ...then });
    },
    getNextPageParam: (page) => (page.length < PAGE ? undefined : page.at(-1)?.created_at),
    placeholderData: (before) => before,
  });
}

const endedOf = (jobs: Iterable<JobRow>) => [...jobs].filter((job) => job.ended_at !== null);

/** Looks again when a job has ended. The event is heard before the row is written, so those are taken from here. */
function useJustEnded(search: QueueSearch): readonly JobRow[] {
  const { fleet } = useLive();
  const past = usePast();
  const queries = useQueryClient();
  const [count, setCount] = useState(() => endedOf(fleet.jobs.values()).length);
  useEffect(() => fleet.jobs.watchAll(() => setCount(endedOf(fleet.jobs.values()).length)), [fleet]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: one more has ended
  useEffect(() => void queries.invalidateQueries({ queryKey: ["ended-jobs"] }), [queries, count]);
  if (past !== null) return [];
  const text = (search.q ?? "").trim().toLowerCase();
  return endedOf(fleet.jobs.values()).filter(
    (job) =>
      (search.ended === undefined || job.status === search.ended) &&
      (text === "" || `${job.title ?? ""}\n${job.target_url}`.toLowerCase().includes(text)),
  );
}

function newestFirst(read: readonly JobRow[], justEnded: readonly JobRow[], isAll: boolean): readonly JobRow[] {
  const known = new Set(read.map((job) => job.id));
  const last = read.at(-1)?.created_at ?? "";
  // What is older than all that was read comes with a later page.
  const fresh = justEnded.filter((job) => !known.has(job.id) && (isAll || job.created_at > last));
  return fresh.length === 0 ? read : [...read, ...fresh].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
}

export function History({ search, open }: { search: QueueSearch; open: (job: string) => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(10_000);
  const justEnded = useJustEnded(search);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useHistory(search);
  const jobs = newestFirst(data?.pages.flat() ?? [], justEnded, !hasNextPage);
  if (error !== null && data === undefined) return <ErrorState isSmall error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading isSmall />;
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
      cell: (job) =>
        job.ended_at !== null && <span title={format.full(job.ended_at)}>{format.ago(job.ended_at, now)}</span>,
    },
  ];
  return (
    <>
      <DataTable label={t.queue.history} columns={columns} rows={jobs} current={search.job} open={open} />
      {hasNextPage && (
        <div className="flex justify-center border-t border-line py-3">
          <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {isFetchingNextPage ? t.common.loading : t.common.more}
          </Button>
        </div>
      )}
    </>
  );
}

export function reasonText(t: Dictionary, reason: string | null): string {
  if (reason === null) return "";
  if (Object.hasOwn(t.queue.endReasons, reason))
    return t.queue.endReasons[reason as keyof Dictionary["queue"]["endReasons"]];
  return codeText(t, reason);
}
