/** What runs, and what waits. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useIsReading } from "@/app/context";
import { JobBar, JobCounters, JobPace } from "@/farm/job-progress";
import { hasTurn, isScheduled, useOpenJobs } from "@/farm/open-jobs";
import { ScheduledBadge } from "@/farm/scheduled-badge";
import { targetText } from "@/farm/target-text";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Card } from "@/ui/page";
import { Empty, Loading } from "@/ui/states";
import { JobBadge } from "@/ui/status";

const WAITING_SHOWN = 4;

export function Running(): ReactNode {
  const t = useText();
  const format = useFormat();
  const { active } = useOpenJobs();
  const isReading = useIsReading();
  if (active === undefined) {
    return (
      <Card title={t.overview.running}>
        {isReading ? <Loading isSmall /> : <Empty isSmall title={t.overview.noActive} hint={t.overview.noActiveHint} />}
      </Card>
    );
  }
  return (
    <Card title={t.overview.running} aside={<JobPace job={active} />}>
      <Link
        to="/queue"
        search={{ job: active.id }}
        className="block truncate text-lg font-medium underline-offset-2 hover:underline"
      >
        {active.title ?? t.queue.untitled}
      </Link>
      <p className="mb-3 truncate text-sm text-ink-3">
        {targetText(t, active.target)} · {t.queue.started} {format.moment(active.activated_at)}
      </p>
      <JobBar job={active} className="h-3" />
      <div className="mt-3">
        <JobCounters job={active} />
      </div>
    </Card>
  );
}

export function Waiting(): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(5_000);
  const { waiting } = useOpenJobs();
  const isReading = useIsReading();
  const more = waiting.length - WAITING_SHOWN;
  return (
    <Card
      title={t.overview.waiting}
      aside={
        more > 0 && (
          <Link to="/queue" className="text-xs text-ink-3 underline-offset-2 hover:underline">
            {t.overview.showAll} ({format.number(waiting.length)})
          </Link>
        )
      }
    >
      {waiting.length === 0 && isReading ? (
        <Loading isSmall />
      ) : waiting.length === 0 ? (
        <Empty isSmall title={t.overview.nothingWaits} />
      ) : (
        <ol>
          {waiting.slice(0, WAITING_SHOWN).map((job, index) => (
            <li key={job.id} className="border-t border-line first:border-t-0">
              <Link
                to="/queue"
                search={{ job: job.id }}
                className="-mx-2 flex h-9 items-center gap-3 rounded px-2 text-sm hover:bg-hover"
              >
                <span className="w-4 shrink-0 text-right text-ink-3">{hasTurn(job) ? index + 1 : "–"}</span>
                <span className="min-w-0 flex-1 truncate">{job.title ?? t.queue.untitled}</span>
                <span className="shrink-0 text-xs text-ink-3">{format.ago(job.created_at, now)}</span>
                {isScheduled(job) ? <ScheduledBadge /> : !hasTurn(job) && <JobBadge status="paused" />}
              </Link>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
