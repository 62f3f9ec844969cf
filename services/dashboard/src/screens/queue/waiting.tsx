/** Jobs that wait, in the order in which they get their turn; and why. */
import { type ReactNode, useMemo } from "react";
import { useIsReading, useLive } from "@/app/context";
import { codeText } from "@/farm/code";
import { ended, jobTotal } from "@/farm/job-total";
import { hasTurn, isScheduled } from "@/farm/open-jobs";
import { useOperateText } from "@/farm/operate-words";
import { ScheduledBadge } from "@/farm/scheduled-badge";
import { targetText } from "@/farm/target-text";
import type { JobRow } from "@/lib/rest/rows";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { type Column, DataTable, RowButton, type Selecting } from "@/ui/data-table";
import { Empty, Loading } from "@/ui/states";
import { JobBadge } from "@/ui/status";
import { JobActions } from "./actions";
import { PlaceMark, RunNext } from "./order";
import { StartNow } from "./schedule";

interface WaitingProps {
  readonly jobs: readonly JobRow[];
  readonly current: string | undefined;
  readonly open: (job: string) => void;
  readonly selecting: Pick<Selecting<JobRow>, "selected" | "onChange"> | undefined;
}

export function Waiting({ jobs, current, open, selecting }: WaitingProps): ReactNode {
  const t = useOperateText();
  const format = useFormat();
  const isReading = useIsReading();
  const { fleet } = useLive();
  const columns = useMemo<Column<JobRow>[]>(() => {
    function stateText(job: JobRow): string {
      if (isScheduled(job)) return t.operate.startsAt(format.moment(job.not_before));
      if (job.status === "created" && !job.is_active) return t.queue.inactive;
      if (job.status === "paused") {
        const isByPerson = job.paused_for === null || job.paused_for === "admin";
        return isByPerson ? t.queue.pausedByPerson : t.queue.pausedBy(codeText(t, job.paused_for ?? ""));
      }
      const done = ended(job);
      return done > 0 ? t.queue.progress(format.number(done), format.number(jobTotal(fleet, job))) : "";
    }

    return [
      {
        id: "place",
        header: "#",
        className: "w-12 text-right text-ink-3 @max-lg:hidden",
        cell: (job, index) => (hasTurn(job) ? index + 1 : "–"),
      },
      {
        id: "job",
        header: t.queue.job,
        isTitle: true,
        className: "w-[24%] @max-3xl:w-[34%]",
        cell: (job) => <RowButton onClick={() => open(job.id)}>{job.title ?? t.queue.untitled}</RowButton>,
      },
      {
        id: "target",
        header: t.queue.target,
        className: "w-[14%] text-ink-2 @max-3xl:hidden",
        cell: (job) => targetText(t, job.target),
      },
      {
        id: "status",
        header: t.queue.status,
        cell: (job) => (
          <span className="flex items-center gap-2" title={stateText(job)}>
            {isScheduled(job) ? <ScheduledBadge /> : <JobBadge status={hasTurn(job) ? "created" : "paused"} />}
            {/* Beside an open panel there is room for two letters of it. */}
            <span className="truncate text-ink-3 @min-lg:@max-3xl:sr-only">{stateText(job)}</span>
          </span>
        ),
      },
      {
        id: "priority",
        header: t.operate.priority,
        isNamed: true,
        className: "w-20 text-right text-ink-2 @max-lg:hidden",
        cell: (job) => <PlaceMark job={job} />,
      },
      {
        id: "created",
        header: t.queue.created,
        className: "w-28 text-right text-ink-3 @max-3xl:hidden",
        cell: (job) => <Ago at={job.created_at} />,
      },
      {
        id: "actions",
        header: t.palette.actions,
        isHeaderHidden: true,
        className: "w-52 text-right",
        cell: (job) => (
          <span className="flex items-center justify-end gap-1">
            <Button kind="quiet" icon="question" title={t.queue.why} onClick={() => open(job.id)}>
              {t.queue.whyShort}
            </Button>
            <RunNext job={job} isSmall />
            <StartNow job={job} isSmall />
            <JobActions job={job} isSmall />
          </span>
        ),
      },
    ];
  }, [t, format, fleet, fleet.devices.size, open]);
  if (jobs.length === 0 && isReading) return <Loading isSmall />;
  if (jobs.length === 0) return <Empty isSmall title={t.queue.nothingWaits} hint={t.queue.nothingWaitsHint} />;
  return (
    <DataTable<JobRow>
      label={t.queue.waiting}
      columns={columns}
      rows={jobs}
      current={current}
      open={open}
      selecting={
        selecting && {
          ...selecting,
          selectAll: t.queue.selectAll,
          select: (job) => t.queue.select(job.title ?? t.queue.untitled),
        }
      }
    />
  );
}
