/** How the fleet follows from its events. The same rules as the projector's (`services/drover/projector/fleet`). */
import type { JobRow, JobStatus } from "../rest/rows";
import { applyRule, type Envelope, type FleetEvents, type OfAssignment, type Rules } from "./events";
import { type Assignment, type Counter, cancelledAs, countedAs, type FleetStore } from "./fleet";
import { micros } from "./moment";

const rules: Rules<FleetEvents, FleetStore> = {
  // What was read is newer than the event that made it.
  PcRegistered: (fleet, e) => {
    if (fleet.pcs.get(e.pc_id) !== undefined) return;
    fleet.pcs.set(e.pc_id, { id: e.pc_id, capacity: e.capacity, heldUntil: null });
  },
  PcCapacityChanged: (fleet, e) => changePc(fleet, e.pc_id, { capacity: e.capacity }),
  PcHeld: (fleet, e) => changePc(fleet, e.pc_id, { heldUntil: e.until }),
  PcHoldEnded: (fleet, e) => changePc(fleet, e.pc_id, { heldUntil: null }),

  DeviceRegistered: (fleet, e) => {
    if (fleet.devices.get(e.device_id) !== undefined) return;
    fleet.putDevice({
      id: e.device_id,
      serial: e.serial_number,
      group: e.group_id,
      pc: e.pc_id,
      capabilities: e.capabilities,
      isAlive: false,
      isRunning: false,
      assignment: null,
      errorCode: null,
      errorUntil: null,
      errorCondition: null,
      heldUntil: null,
      changedAt: e.at,
    });
  },
  DeviceChanged: (fleet, e) =>
    fleet.changeDevice(e.device_id, {
      group: e.group_id,
      pc: e.pc_id,
      capabilities: e.capabilities,
      changedAt: e.at,
    }),
  DeviceCameOnline: (fleet, e) => fleet.changeDevice(e.device_id, { isAlive: true, changedAt: e.at }),
  DeviceWentOffline: (fleet, e) => fleet.changeDevice(e.device_id, { isAlive: false, changedAt: e.at }),
  DeviceQuarantined: (fleet, e) =>
    fleet.changeDevice(e.device_id, {
      errorCode: e.rule,
      errorUntil: e.until,
      errorCondition: e.condition,
      changedAt: e.at,
    }),
  DeviceReleased: (fleet, e) => {
    // Of a device that was in error when it was read nobody has told whether it is heard.
    if (fleet.devices.get(e.device_id)?.isAlive === null) fleet.markStale("devices", e.device_id);
    fleet.changeDevice(e.device_id, { ...WELL, changedAt: e.at });
  },
  DeviceReset: (fleet, e) => fleet.changeDevice(e.device_id, { ...WELL, isAlive: false, changedAt: e.at }),
  DeviceHeld: (fleet, e) => fleet.changeDevice(e.device_id, { heldUntil: e.until, changedAt: e.at }),
  DeviceHoldEnded: (fleet, e) => fleet.changeDevice(e.device_id, { heldUntil: null, changedAt: e.at }),

  JobCreated: (fleet, e) => {
    if (fleet.jobs.get(e.job_id) === undefined) fleet.jobs.set(e.job_id, newJob(e));
  },
  JobActivated: (fleet, e) => {
    const activated_at = fleet.jobs.get(e.job_id)?.activated_at ?? e.at;
    changeJob(fleet, e.job_id, { status: "active", activated_at, updated_at: e.at });
  },
  JobReturned: (fleet, e) => changeJob(fleet, e.job_id, { status: "created", updated_at: e.at }),
  JobPaused: (fleet, e) =>
    changeJob(fleet, e.job_id, {
      status: "paused",
      is_active: false,
      paused_for: e.rule ?? e.reason,
      updated_at: e.at,
    }),
  JobResumed: (fleet, e) =>
    changeJob(fleet, e.job_id, { status: "created", is_active: true, paused_for: null, updated_at: e.at }),
  JobDeactivated: (fleet, e) => endJob(fleet, e.job_id, e.at, "deactivated", e.rule ?? "admin"),
  JobCancelled: (fleet, e) => endJob(fleet, e.job_id, e.at, "cancelled", "admin"),
  JobExpired: (fleet, e) => endJob(fleet, e.job_id, e.at, "expired", "time"),
  JobCompleted: (fleet, e) => {
    const { pending = 0, retrying = 0 } = fleet.jobs.get(e.job_id) ?? {};
    endJob(fleet, e.job_id, e.at, "completed", "done");
    // The event counts the phones whose assignment still waits, too. Each is counted when it is taken back.
    changeJob(fleet, e.job_id, { skipped: Math.max(0, e.skipped - pending - retrying) });
  },
  JobNeedAdded: (fleet, e) => {
    const needs = fleet.jobs.get(e.job_id)?.needs ?? [];
    if (!needs.includes(e.capability)) changeJob(fleet, e.job_id, { needs: [...needs, e.capability] });
  },

  AssignmentRequested: (fleet, e) => move(fleet, e, { phase: "waiting" }),
  AssignmentReopened: (fleet, e) => wait(fleet, e),
  AssignmentParked: (fleet, e) => wait(fleet, e),
  AssignmentCancelled: (fleet, e) => end(fleet, e, "cancelled", cancelledAs(fleet.jobs.get(e.job_id), e.reason)),
  AttemptCreated: (fleet, e) => {
    const moved = move(fleet, e, { ...AGAIN, phase: "offered", run: e.run, attempt: e.attempt, assignedAt: e.at });
    if (moved) fleet.changeDevice(e.device_id, { assignment: e.assignment_id });
  },
  AttemptSent: (fleet, e) => void move(fleet, e, { phase: "sent", timeoutAt: e.timeout_at }),
  AttemptStarted: (fleet, e) => {
    const now = { phase: "running", startedAt: e.at, timeoutAt: e.timeout_at, progress: e.progress_pct } as const;
    if (!move(fleet, e, now)) return;
    fleet.changeDevice(e.device_id, { isRunning: true, assignment: e.assignment_id, changedAt: e.at });
  },
  AttemptProgressed: (fleet, e) => void move(fleet, e, { progress: e.progress_pct, isAdPlaying: e.ad_playing }),
  AttemptSucceeded: (fleet, e) => end(fleet, e, "completed"),
  AttemptFailed: (fleet, e) => fail(fleet, e, e.attempt),
  AttemptTimedOut: (fleet, e) => fail(fleet, e, e.attempt),
  AttemptRolledBack: (fleet, e) => wait(fleet, e),
  AttemptCancelled: (fleet, e) => wait(fleet, e),
  RetryScheduled: (fleet, e) => {
    const attempt = (fleet.assignments.get(e.assignment_id)?.failures ?? 0) + 1;
    if (e.due === null) wait(fleet, e, { attempt });
    else move(fleet, e, { ...AGAIN, phase: "retrying", retryDueAt: e.due, attempt });
  },
  AttemptFailedFinal: (fleet, e) => end(fleet, e, "failed"),
};

export function foldFleet(fleet: FleetStore, event: Envelope): void {
  applyRule(rules, fleet, event);
}

const WELL = { errorCode: null, errorUntil: null, errorCondition: null } as const;

/** What is over when it is pending again: whoever takes it next starts from the beginning. */
const AGAIN = { progress: 0, isAdPlaying: false, startedAt: null, timeoutAt: null, retryDueAt: null } as const;

/** False: the row that was read tells of this event already. */
function move(fleet: FleetStore, event: OfAssignment, change: Partial<Assignment>, counter?: Counter | null): boolean {
  const before = fleet.assignments.get(event.assignment_id);
  if (before !== undefined && micros(event.at) <= before.readUpTo) return false;
  const after = { ...(before ?? newAssignment(event)), ...change };
  fleet.moveAssignment(before, after, counter === undefined ? countedAs(after) : counter);
  fleet.markStale("jobs", event.job_id);
  return true;
}

/** Pending without a slot. */
function wait(fleet: FleetStore, event: OfAssignment, change: Partial<Assignment> = {}): void {
  if (move(fleet, event, { ...AGAIN, ...change, phase: "waiting", assignedAt: null })) freeSlot(fleet, event);
}

function end(
  fleet: FleetStore,
  event: OfAssignment,
  phase: "completed" | "failed" | "cancelled",
  counter?: Counter | null,
): void {
  if (move(fleet, event, { phase }, counter)) freeSlot(fleet, event);
}

/** The event that follows in the same commit says where the assignment goes from here. */
function fail(fleet: FleetStore, event: OfAssignment, failures: number): void {
  if (!move(fleet, event, { ...AGAIN, phase: "retrying", failures })) return;
  fleet.changeDevice(event.device_id, { isRunning: false, changedAt: event.at });
}

/**
 * Where this assignment holds it: one that only waited leaves alone what the device has in hand. A device that was read
 * while this ended is busy with nothing that is known: then it was this.
 */
function freeSlot(fleet: FleetStore, event: OfAssignment): void {
  const inHand = fleet.devices.get(event.device_id)?.assignment ?? null;
  if (inHand !== null && inHand !== event.assignment_id) return;
  fleet.changeDevice(event.device_id, { assignment: null, isRunning: false, changedAt: event.at });
}

function newAssignment(event: OfAssignment): Assignment {
  return {
    id: event.assignment_id,
    job: event.job_id,
    device: event.device_id,
    phase: "waiting",
    progress: 0,
    isAdPlaying: false,
    attempt: 1,
    run: 0,
    failures: 0,
    assignedAt: null,
    startedAt: null,
    timeoutAt: null,
    retryDueAt: null,
    readUpTo: 0,
  };
}

function changePc(fleet: FleetStore, id: string, change: { capacity?: number; heldUntil?: string | null }): void {
  const pc = fleet.pcs.get(id);
  if (pc !== undefined) fleet.pcs.set(id, { ...pc, ...change });
}

function changeJob(fleet: FleetStore, id: string, change: Partial<JobRow>): void {
  const job = fleet.jobs.get(id);
  if (job === undefined) fleet.markStale("jobs", id);
  else fleet.jobs.set(id, { ...job, ...change });
}

function endJob(fleet: FleetStore, id: string, at: string, status: JobStatus, end_reason: string): void {
  changeJob(fleet, id, { status, is_active: false, ended_at: at, end_reason, updated_at: at });
}

function newJob(event: FleetEvents["JobCreated"]): JobRow {
  const { job_id, at, by: _by, cause: _cause, n: _n, type: _type, ...told } = event;
  return {
    ...told,
    id: job_id,
    status: "created",
    needs: [],
    created_at: at,
    updated_at: at,
    activated_at: null,
    ended_at: null,
    paused_for: null,
    end_reason: null,
    pending: 0,
    running: 0,
    retrying: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    skipped: 0,
  };
}
