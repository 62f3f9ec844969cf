/** How many phones a job is for: what its counters do not say, since work is handed out bit by bit. */
import type { FleetStore } from "@/lib/live/fleet";
import type { Counters, JobRow } from "@/lib/rest/rows";

/** Each phone once, wherever it stands. */
export function counted(job: Counters): number {
  return job.pending + job.running + job.retrying + ended(job) + job.skipped;
}

/** Phones that are through with it, however it ended there. */
export function ended(job: Counters): number {
  return job.completed + job.failed + job.cancelled;
}

/** At least what was handed out: phones may have moved since. What it does not reach in the end is skipped. */
export function jobTotal(fleet: FleetStore, job: JobRow): number {
  if (job.ended_at !== null) return counted(job);
  return Math.max(counted(job), job.target?.count ?? inTarget(fleet, job));
}

function inTarget(fleet: FleetStore, { target }: JobRow): number {
  if (target?.device_ids !== undefined) return target.device_ids.length;
  if (target?.group_id === undefined && target?.pc_id === undefined) return fleet.devices.size;
  let found = 0;
  for (const device of fleet.devices.values()) {
    if (target.group_id !== undefined && device.group !== target.group_id) continue;
    if (target.pc_id !== undefined && device.pc !== target.pc_id) continue;
    found++;
  }
  return found;
}
