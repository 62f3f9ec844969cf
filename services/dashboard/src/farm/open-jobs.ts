/** The jobs that are not over: the one that is active, and those that wait, in the order in which they get their turn. */
import { useMemo } from "react";
import { useLive } from "@/app/context";
import { useTable } from "@/lib/live/hooks";
import type { JobRow } from "@/lib/rest/rows";

export interface OpenJobs {
  readonly active: JobRow | undefined;
  /** Oldest first; those that are paused or inactive have no turn and come last. */
  readonly waiting: readonly JobRow[];
}

const EVERY_MS = 200;

export function useOpenJobs(): OpenJobs {
  const { fleet } = useLive();
  const version = useTable(fleet.jobs, EVERY_MS);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is in the table
  return useMemo(() => openJobs([...fleet.jobs.values()]), [fleet, version]);
}

export function openJobs(jobs: readonly JobRow[]): OpenJobs {
  const waiting = jobs
    .filter((job) => job.status === "created" || job.status === "paused")
    .sort((a, b) => Number(!hasTurn(a)) - Number(!hasTurn(b)) || Date.parse(a.created_at) - Date.parse(b.created_at));
  return { active: jobs.find((job) => job.status === "active"), waiting };
}

/** It is in the queue; else somebody must resume it. */
export function hasTurn(job: JobRow): boolean {
  return job.status === "created" && job.is_active;
}
