/** The jobs that are not over: the one that is active, and those that wait, in the order in which they get their turn. */
import { useMemo } from "react";
import { useIsReading, useLive } from "@/app/context";
import { useTable } from "@/lib/live/hooks";
import type { JobRow } from "@/lib/rest/rows";

export interface OpenJobs {
  readonly active: JobRow | undefined;
  /** Those that are scheduled come after the queue, those that are paused or inactive last. */
  readonly waiting: readonly JobRow[];
}

const EVERY_MS = 200;

export function useOpenJobs(): OpenJobs {
  const { fleet } = useLive();
  const version = useTable(fleet.jobs, EVERY_MS);
  // Looked at again at once when all is read: a page that is no longer loading must not look empty for 200 ms.
  const isReading = useIsReading();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is in the table
  return useMemo(() => openJobs([...fleet.jobs.values()]), [fleet, version, isReading]);
}

export function openJobs(jobs: readonly JobRow[]): OpenJobs {
  const waiting = jobs
    .filter((job) => job.status === "created" || job.status === "paused")
    .sort((a, b) => placeOf(a) - placeOf(b) || byStart(a, b) || byTurn(a, b));
  return { active: jobs.find((job) => job.status === "active"), waiting };
}

/** As the server's queue: put first, then the highest priority, then the oldest. */
function byTurn(a: JobRow, b: JobRow): number {
  return b.put_first - a.put_first || b.priority - a.priority || Date.parse(a.created_at) - Date.parse(b.created_at);
}

function byStart(a: JobRow, b: JobRow): number {
  return isScheduled(a) && isScheduled(b) ? Date.parse(a.not_before ?? "") - Date.parse(b.not_before ?? "") : 0;
}

function placeOf(job: JobRow): number {
  return hasTurn(job) ? 0 : isScheduled(job) ? 1 : 2;
}

/** It is in the queue; else it waits for its time, or somebody must resume it. */
export function hasTurn(job: JobRow): boolean {
  return job.status === "created" && job.is_active && !job.is_scheduled;
}

/** It will be in the queue when its time comes. */
export function isScheduled(job: JobRow): boolean {
  return job.status === "created" && job.is_active && job.is_scheduled;
}
