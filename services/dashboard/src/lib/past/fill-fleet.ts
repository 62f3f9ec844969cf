/** A fleet's rows from a moment of the past. What that moment does not tell of a job is what never changes about it. */
import { type Assignment, alertKey, type Device, deviceOf, type FleetStore } from "../live/fleet";
import { UNKNOWN_FIELDS } from "../rest/job-fields";
import type { AlertRow, JobRow } from "../rest/rows";
import type { FleetMoment, PastDevice, PastJob, PastWork } from "./moments";

export interface KnownOfPast {
  readonly moment: FleetMoment;
  /** Rows of these jobs as they are now. */
  readonly jobs: ReadonlyMap<string, JobRow>;
  /** Those that were open then, of every context. */
  readonly alerts: readonly AlertRow[];
}

export function fillFleet(fleet: FleetStore, { moment, jobs, alerts }: KnownOfPast): void {
  fleet.clear();
  for (const pc of moment.pcs) fleet.pcs.set(pc.id, { id: pc.id, capacity: pc.capacity, heldUntil: pc.held_until });
  const running = new Map<string, number>();
  for (const device of moment.devices) {
    fleet.putDevice(deviceThen(device, moment.at));
    if (device.work === null) continue;
    const { job_id: job, status } = device.work;
    fleet.putAssignment(assignmentThen(device.id, device.work, moment.at));
    if (status === "running") running.set(job, (running.get(job) ?? 0) + 1);
  }
  const poison = new Map(alerts.filter((one) => one.kind === "poison_job").map((one) => [one.subject, one]));
  for (const job of moment.jobs) {
    const rule = poison.get(job.id)?.details["rule"];
    const pausedFor = job.status === "paused" && typeof rule === "string" ? rule : null;
    fleet.jobs.set(job.id, jobThen(job, jobs.get(job.id), running.get(job.id) ?? 0, pausedFor));
  }
  for (const alert of alerts) fleet.alerts.set(alertKey(alert), alert);
}

/** The past does not tell what a device can do, nor what it waits for. */
function deviceThen(device: PastDevice, at: string): Omit<Device, "assignment"> {
  return deviceOf({ ...device, capabilities: [], error_condition: null, updated_at: at });
}

function assignmentThen(device: string, work: PastWork, at: string): Assignment {
  return {
    id: work.assignment_id,
    job: work.job_id,
    device,
    phase: work.status === "running" ? "running" : "offered",
    progress: work.progress_pct,
    isAdPlaying: false,
    attempt: work.attempt,
    run: work.run,
    failures: Math.max(0, work.attempt - 1),
    assignedAt: null,
    startedAt: work.started_at,
    timeoutAt: null,
    retryDueAt: null,
    changedAt: at,
  };
}

function jobThen(then: PastJob, now: JobRow | undefined, running: number, pausedFor: string | null): JobRow {
  const isOver = then.ended_at !== null;
  return {
    ...(now ?? UNKNOWN),
    id: then.id,
    title: then.title,
    status: then.status,
    is_active: then.status === "created" || then.status === "active",
    created_at: then.created_at,
    updated_at: then.ended_at ?? then.activated_at ?? then.created_at,
    activated_at: then.activated_at,
    ended_at: then.ended_at,
    end_reason: isOver ? (now?.end_reason ?? null) : null,
    paused_for: pausedFor,
    pending: Math.max(0, then.in_flight - running) + then.waiting,
    running,
    retrying: 0,
    completed: then.completed,
    failed: then.failed,
    priority: then.priority,
    put_first: then.put_first,
    not_before: then.not_before,
    is_scheduled: then.is_scheduled,
    cancelled: isOver ? (now?.cancelled ?? 0) : 0,
    skipped: isOver ? (now?.skipped ?? 0) : 0,
  };
}

/** Of a job whose row is gone. */
const UNKNOWN: Omit<JobRow, keyof PastJob> = {
  ...UNKNOWN_FIELDS,
  needs: [],
  updated_at: "",
  paused_for: null,
  end_reason: null,
  pending: 0,
  running: 0,
  retrying: 0,
  cancelled: 0,
  skipped: 0,
};
