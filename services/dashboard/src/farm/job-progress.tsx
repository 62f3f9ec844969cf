/** How far a job is: a bar of what became of its phones, the same in numbers, and how long it may take. */
import type { ReactNode } from "react";
import { useLive } from "@/app/context";
import { usePast } from "@/app/past";
import { useText } from "@/lib/i18n/i18n";
import type { Counters, JobRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { Bar, FILLS, type Part } from "@/ui/bar";
import { ended, jobTotal } from "./job-total";
import { etaText, MEASURING_MS, paceOf } from "./pace";
import { useTally } from "./use-tally";

const TONES: Record<keyof Counters, Part["tone"]> = {
  completed: "online",
  failed: "error",
  cancelled: "offline",
  running: "busy",
  retrying: "held",
  pending: "soft",
  skipped: "rest",
};
const ORDER = ["completed", "failed", "cancelled", "running", "retrying", "pending", "skipped"] as const;

export function JobBar({ job, className = "h-2" }: { job: JobRow; className?: string }): ReactNode {
  const t = useText();
  const { fleet } = useLive();
  const parts = ORDER.map((key) => ({ key, value: job[key], tone: TONES[key], label: t.counters[key] }));
  return <Bar parts={parts} total={jobTotal(fleet, job)} label={job.title ?? t.queue.untitled} className={className} />;
}

/** Each with the colour that it has in the bar. */
export function JobCounters({ job }: { job: JobRow }): ReactNode {
  const t = useText();
  const format = useFormat();
  return (
    <dl className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
      {ORDER.filter((key) => job[key] > 0 || key === "completed" || key === "failed" || key === "running").map(
        (key) => (
          <div key={key} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={`size-2 rounded-full ${FILLS[TONES[key]]}`} />
            <dt className="text-ink-3">{t.counters[key]}</dt>
            <dd className="font-medium">{format.number(job[key])}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** How many of its phones are through, how fast that goes, and how long it may still take. */
export function JobPace({ job }: { job: JobRow }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { fleet } = useLive();
  const isPast = usePast() !== null;
  const total = jobTotal(fleet, job);
  const done = ended(job);
  return (
    <span className="text-sm text-ink-3">
      {t.queue.progress(format.number(done), format.number(total))}
      {!isPast && job.status === "active" && job.activated_at !== null && total > done && (
        <Speed job={job.id} activatedAt={job.activated_at} left={total - done} />
      )}
    </span>
  );
}

function Speed({ job, activatedAt, left }: { job: string; activatedAt: string; left: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { tally, now } = useTally();
  const perMinute = paceOf(tally, job, activatedAt, now);
  if (perMinute !== null) {
    const rounded = perMinute < 10 ? Math.round(perMinute * 10) / 10 : Math.round(perMinute);
    return ` · ${t.queue.rate(format.number(rounded))} · ${etaText(t, (left / perMinute) * 60_000)}`;
  }
  return now - Date.parse(activatedAt) < MEASURING_MS ? ` · ${t.queue.measuring}` : null;
}
