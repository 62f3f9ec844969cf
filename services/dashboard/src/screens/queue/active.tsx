/** The one job whose work is handed out now. */
import type { ReactNode } from "react";
import { useIsReading } from "@/app/context";
import { JobBar, JobCounters, JobPace } from "@/farm/job-progress";
import { targetText } from "@/farm/target-text";
import { useText } from "@/lib/i18n/i18n";
import type { JobRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { RowButton } from "@/ui/data-table";
import { Empty, Loading } from "@/ui/states";
import { JobActions } from "./actions";

export function Active({
  job,
  waits,
  open,
}: {
  job: JobRow | undefined;
  waits: boolean;
  open: (job: string) => void;
}): ReactNode {
  const t = useText();
  const format = useFormat();
  const isReading = useIsReading();
  if (job === undefined && isReading) return <Loading isSmall />;
  if (job === undefined) return <Empty isSmall title={waits ? t.queue.noActiveButWaiting : t.queue.noActive} />;
  return (
    <div className="px-4 py-4">
      <div className="flex items-start gap-x-4 gap-y-2 max-sm:flex-wrap">
        <div className="min-w-0 flex-1 max-sm:basis-full">
          <div className="text-lg">
            <RowButton onClick={() => open(job.id)}>{job.title ?? t.queue.untitled}</RowButton>
          </div>
          <p className="truncate text-sm text-ink-3">
            {targetText(t, job.target)} · {t.queue.started} {format.moment(job.activated_at)}
            {job.needs.length > 0 && <> · {t.queue.needs(job.needs.join(", "))}</>}
          </p>
        </div>
        <JobActions job={job} />
      </div>
      <JobBar job={job} className="mt-4 h-3" />
      <div className="mt-3 flex flex-wrap items-center justify-between gap-2">
        <JobCounters job={job} />
        <JobPace job={job} />
      </div>
    </div>
  );
}
