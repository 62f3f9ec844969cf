/** One job: how far it is, why it waits, what it was told to do, and where its phones stand. */
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApp, useLive, useMay } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePast } from "@/app/past";
import { Code } from "@/farm/code";
import { JobBar, JobCounters, JobPace } from "@/farm/job-progress";
import { isScheduled } from "@/farm/open-jobs";
import { useOperateText } from "@/farm/operate-words";
import { ScheduledBadge } from "@/farm/scheduled-badge";
import { shortId } from "@/farm/short-id";
import { targetText } from "@/farm/target-text";
import { Why } from "@/farm/why";
import { useText } from "@/lib/i18n/i18n";
import { phaseOf } from "@/lib/live/fleet";
import { useRow } from "@/lib/live/hooks";
import { cancelAssignments } from "@/lib/rest/commands";
import { randomKey } from "@/lib/rest/key";
import { rows } from "@/lib/rest/read";
import type { AssignmentRow, JobRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { PastAssignments } from "@/screens/time-machine/past-assignments";
import { Button, IconButton } from "@/ui/button";
import { FilterField } from "@/ui/field";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Empty, Unread } from "@/ui/states";
import { JobBadge, PhaseBadge } from "@/ui/status";
import { isOpen, JobActions } from "./actions";
import { reasonText } from "./history";
import { Priority, RunNext } from "./order";
import { RetryAssignment, RunAgain } from "./run-again";
import { Schedule, StartNow } from "./schedule";
import { type QueueSearch, STANDINGS } from "./search";

type Standing = NonNullable<QueueSearch["at"]>;

interface JobPanelProps {
  readonly id: string;
  readonly at: Standing | undefined;
  readonly showAt: (at: Standing | undefined) => void;
  readonly open: (job: string) => void;
  readonly close: () => void;
}

/** Open ones are live; of the others the row is read. In the past it tells only of those that were over by then. */
function useJob(id: string) {
  const { client } = useApp();
  const past = usePast();
  const { fleet } = useLive();
  const live = useRow(fleet.jobs, id);
  const read = useQuery({
    queryKey: ["job", id],
    queryFn: async () => (await rows<JobRow>(client, "jobs", { id: `eq.${id}` }))[0] ?? null,
    enabled: live === undefined,
  });
  const isThen = past === null || (read.data?.ended_at != null && Date.parse(read.data.ended_at) <= past.at);
  const row = isThen || read.data === undefined ? read.data : null;
  return { read, job: live ?? row };
}

export function JobPanel({ id, at, showAt, open, close }: JobPanelProps): ReactNode {
  const t = useOperateText();
  const format = useFormat();
  const { job, read } = useJob(id);
  const isPast = usePast() !== null;
  if (job === undefined || job === null) {
    return (
      <SidePanel title={t.queue.job} close={close}>
        <Unread of={read} absent={job === null && (isPast ? t.past.notThen : t.queue.notFound)} />
      </SidePanel>
    );
  }
  const script = t.queue.scripts[job.script_type as keyof typeof t.queue.scripts] ?? job.script_type;
  return (
    <SidePanel
      title={job.title ?? t.queue.untitled}
      badge={isScheduled(job) ? <ScheduledBadge /> : <JobBadge status={job.status} />}
      subtitle={`${targetText(t, job.target)} · ${t.queue.created} ${format.moment(job.created_at)}`}
      close={close}
    >
      <div className="flex justify-end border-b border-line px-4 py-2 empty:hidden">
        {isOpen(job) ? (
          <span className="flex flex-wrap justify-end gap-1">
            <RunNext job={job} />
            <StartNow job={job} />
            <JobActions job={job} />
          </span>
        ) : (
          <RunAgain job={job} created={open} />
        )}
      </div>
      <Section title={t.queue.result} aside={<JobPace job={job} />}>
        <JobBar job={job} className="mb-2.5 h-2.5" />
        <JobCounters job={job} />
      </Section>
      {isOpen(job) && (
        <Section title={job.status === "active" ? t.queue.whyShort : t.queue.why}>
          <Why subject={{ job_id: id }} />
        </Section>
      )}
      {isOpen(job) && !isPast && (
        <Section title={t.operate.turn}>
          <div className="flex flex-col gap-4">
            <Priority job={job} />
            {job.status !== "active" && <Schedule job={job} />}
          </div>
        </Section>
      )}
      <Section title={t.queue.settings}>
        <Facts
          facts={[
            [
              t.queue.address,
              <a
                key="a"
                href={job.target_url}
                target="_blank"
                rel="noreferrer"
                className="break-all underline-offset-2 hover:underline"
              >
                {job.target_url}
              </a>,
            ],
            [t.queue.script, script],
            [t.queue.watch, `${job.duration_min_pct} – ${job.duration_max_pct} %`],
            [t.queue.like, `${job.prob_like} %`],
            [t.queue.comment, `${job.prob_comment} %`],
            [t.queue.playlist, `${job.prob_playlist} %`],
            (!isOpen(job) || isPast) && job.priority !== 0 && [t.operate.priority, job.priority],
            job.needs.length > 0 && [t.device.capabilities, t.queue.needs(job.needs.join(", "))],
            job.activated_at !== null && [t.queue.started, format.full(job.activated_at)],
            job.ended_at !== null && [t.queue.ended, `${format.full(job.ended_at)} ${reasonText(t, job.end_reason)}`],
          ]}
        />
      </Section>
      {isPast && isOpen(job) ? <PastAssignments job={job.id} /> : <Assignments job={job} at={at} showAt={showAt} />}
    </SidePanel>
  );
}

const PAGE = 100;
/** Three in all (000 §5.2). */
const ATTEMPTS_MAX = 3;
const LOOK_EVERY_MS = 5_000;

function Assignments({
  job,
  at,
  showAt,
}: {
  job: JobRow;
  at: Standing | undefined;
  showAt: (at: Standing | undefined) => void;
}): ReactNode {
  const t = useText();
  const { client } = useApp();
  const query = {
    job_id: `eq.${job.id}`,
    ...(at === undefined ? {} : { status: `eq.${at}` }),
    order: "updated_at.desc",
  };
  const answer = useInfiniteQuery({
    // With the end of the job the key changes, so that the list is read once more and shows how all phones ended.
    queryKey: ["assignments", job.id, at, isOpen(job)],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      rows<AssignmentRow>(client, "job_assignments", { ...query, limit: PAGE, offset: pageParam }),
    getNextPageParam: (page, all) => (page.length < PAGE ? undefined : all.length * PAGE),
    refetchInterval: isOpen(job) ? LOOK_EVERY_MS : false,
    placeholderData: (before) => before,
  });
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = answer;
  const found = data?.pages.flat() ?? [];
  return (
    <Section
      title={t.queue.assignments}
      aside={
        <span className="flex flex-wrap justify-end gap-2">
          <FilterField
            label={t.queue.filterStatus}
            className="w-32"
            value={at}
            choices={STANDINGS}
            labelOf={t.counters}
            onChange={showAt}
          />
          <ExportButton of={t.queue.assignments} what={() => ({ relation: "job_assignments", query })} />
        </span>
      }
    >
      {data === undefined ? (
        <Unread of={answer} />
      ) : found.length === 0 ? (
        <Empty isSmall title={at === undefined ? t.queue.noAssignments : t.queue.noAssignmentsWith} />
      ) : (
        <ul>
          {found.map((assignment) => (
            <AssignmentLine key={assignment.id} assignment={assignment} isJobOpen={isOpen(job)} />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button className="mt-2 w-full" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t.common.more}
        </Button>
      )}
    </Section>
  );
}

function AssignmentLine({ assignment, isJobOpen }: { assignment: AssignmentRow; isJobOpen: boolean }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const { fleet } = useLive();
  const live = useRow(fleet.assignments, assignment.id);
  const mayCancel = useMay("cancel-assignment");
  const cancel = useMutation({
    mutationFn: () => {
      const key = randomKey();
      return client.sensitive(t.queue.cancelAssignment, () => cancelAssignments(client, [assignment.id], key));
    },
    onSuccess: () => toasts.show({ kind: "done", title: t.queue.assignmentCancelled }),
  });
  const phase = live?.phase ?? phaseOf(assignment);
  const progress = live?.progress ?? assignment.progress_pct;
  const serial = fleet.devices.get(assignment.device_id)?.serial ?? shortId(assignment.device_id);
  const isPending = phase === "waiting" || phase === "offered" || phase === "sent" || phase === "retrying";
  return (
    <li className="flex h-9 items-center gap-2 border-t border-line text-sm first:border-t-0">
      <Link
        to="/fleet"
        search={{ device: assignment.device_id }}
        className="shrink-0 font-mono text-xs underline-offset-2 hover:underline"
      >
        {serial}
      </Link>
      <span className="min-w-0 flex-1 truncate text-right text-xs">
        {assignment.error_code !== null && phase !== "completed" && <Code code={assignment.error_code} />}
        {phase === "running" && <span className="ml-2 text-ink-2">{progress} %</span>}
        {assignment.attempt > 1 && <span className="ml-2 text-ink-3">{t.device.attempt(assignment.attempt)}</span>}
      </span>
      <PhaseBadge phase={phase} />
      {isJobOpen && phase === "failed" && assignment.retry_count < ATTEMPTS_MAX && (
        <RetryAssignment assignment={assignment} />
      )}
      {mayCancel && isPending && (
        <IconButton
          icon="close"
          label={t.queue.cancelAssignment}
          disabled={cancel.isPending}
          onClick={() => cancel.mutate()}
        />
      )}
    </li>
  );
}
