/** The fleet as this page knows it: devices, PCs, jobs, and the assignments that are under way. */
import type { AlertRow, AssignmentRow, Counters, DeviceRow, DeviceStatus, JobRow, PcRow } from "../rest/rows";
import type { Frames } from "./frame";
import { micros } from "./moment";
import { Table } from "./table";

export interface Device {
  readonly id: string;
  readonly serial: string;
  readonly group: string;
  readonly pc: string;
  readonly capabilities: readonly string[];
  /** Null: it is in error, and whether it is heard was not told. */
  readonly isAlive: boolean | null;
  readonly isRunning: boolean;
  /** What holds its slot: offered, sent, running or about to be retried. */
  readonly assignment: string | null;
  readonly errorCode: string | null;
  readonly errorUntil: string | null;
  readonly errorCondition: string | null;
  readonly heldUntil: string | null;
  readonly changedAt: string;
}

export type Phase = "waiting" | "offered" | "sent" | "running" | "retrying" | "completed" | "failed" | "cancelled";

export interface Assignment {
  readonly id: string;
  readonly job: string;
  readonly device: string;
  readonly phase: Phase;
  readonly progress: number;
  readonly isAdPlaying: boolean;
  readonly attempt: number;
  readonly run: number;
  /** Attempts used up. */
  readonly failures: number;
  readonly assignedAt: string | null;
  readonly startedAt: string | null;
  readonly timeoutAt: string | null;
  readonly retryDueAt: string | null;
  /** Up to which moment its row told all, in microseconds: events before are in it. */
  readonly readUpTo: number;
}

export interface Pc {
  readonly id: string;
  readonly capacity: number;
  readonly heldUntil: string | null;
}

/** What a device shows: its status, and being held, which is one for people. */
export type Shown = DeviceStatus | "held";

export function shownAs(device: Device): Shown {
  if (device.errorCode !== null) return "error";
  if (device.isRunning) return "busy";
  if (!device.isAlive) return "offline";
  return device.heldUntil === null ? "online" : "held";
}

export const SHOWN: readonly Shown[] = ["busy", "online", "held", "error", "offline"];

export class FleetStore {
  readonly pcs: Table<Pc>;
  /** By PC: a rack is told of its phones. */
  readonly devices: Table<Device>;
  readonly jobs: Table<JobRow>;
  readonly assignments: Table<Assignment>;
  readonly alerts: Table<AlertRow>;
  /** How many devices show what, kept as they change. */
  readonly shown: Record<Shown, number> = { busy: 0, online: 0, held: 0, error: 0, offline: 0 };
  readonly #devicesOfPc = new Map<string, readonly string[]>();
  readonly #stale = { devices: new Set<string>(), jobs: new Set<string>() };

  constructor(frames: Frames) {
    this.pcs = new Table(frames);
    this.devices = new Table<Device>(frames, (device) => device.pc);
    this.jobs = new Table(frames);
    this.assignments = new Table<Assignment>(frames, (assignment) => assignment.job);
    this.alerts = new Table(frames);
  }

  clear(): void {
    for (const table of [this.pcs, this.devices, this.jobs, this.assignments, this.alerts]) table.clear();
    for (const shown of SHOWN) this.shown[shown] = 0;
    this.#devicesOfPc.clear();
  }

  /** Ids of the phones of a PC, by serial number. */
  devicesOf(pc: string): readonly string[] {
    return this.#devicesOfPc.get(pc) ?? [];
  }

  putDevice(device: Device): void {
    const before = this.devices.get(device.id);
    if (before !== undefined) this.shown[shownAs(before)]--;
    this.shown[shownAs(device)]++;
    if (before?.pc !== device.pc) {
      if (before !== undefined) this.#leavePc(before);
      this.#joinPc(device);
    }
    this.devices.set(device.id, device);
  }

  changeDevice(id: string, change: Partial<Device>): void {
    const before = this.devices.get(id);
    if (before === undefined) this.markStale("devices", id);
    else this.putDevice({ ...before, ...change });
  }

  /** Puts an assignment where it stands now, and counts its phone there for its job. */
  moveAssignment(before: Assignment | undefined, after: Assignment, counter: Counter | null): void {
    this.#count(before, after, counter);
    if (after.phase === "completed" || after.phase === "failed" || after.phase === "cancelled") {
      this.assignments.delete(after.id);
    } else {
      this.assignments.set(after.id, after);
    }
    const pc = this.devices.get(after.device)?.pc;
    if (pc !== undefined) this.devices.touch(pc);
  }

  forgetJobsEndedBefore(moment: number): void {
    for (const job of [...this.jobs.values()]) {
      if (job.ended_at !== null && Date.parse(job.ended_at) < moment) this.jobs.delete(job.id);
    }
  }

  /** What can only be known by reading its row again. */
  markStale(kind: "devices" | "jobs", id: string): void {
    this.#stale[kind].add(id);
  }

  takeStale(kind: "devices" | "jobs", max: number): string[] {
    const taken = [...this.#stale[kind]].slice(0, max);
    for (const id of taken) this.#stale[kind].delete(id);
    return taken;
  }

  #count(before: Assignment | undefined, after: Assignment, to: Counter | null): void {
    const job = this.jobs.get(after.job);
    const from = before === undefined ? null : countedAs(before);
    if (job === undefined || from === to) return;
    this.jobs.set(job.id, {
      ...job,
      ...(from === null ? {} : { [from]: Math.max(0, job[from] - 1) }),
      ...(to === null ? {} : { [to]: job[to] + 1 }),
    });
  }

  #joinPc(device: Device): void {
    const others = this.devicesOf(device.pc);
    const serialOf = (id: string) => this.devices.get(id)?.serial ?? "";
    const at = others.findLastIndex((id) => serialOf(id) < device.serial) + 1;
    this.#devicesOfPc.set(device.pc, others.toSpliced(at, 0, device.id));
  }

  #leavePc(device: Device): void {
    const others = this.devicesOf(device.pc).filter((id) => id !== device.id);
    this.#devicesOfPc.set(device.pc, others);
  }
}

export type Counter = keyof Counters;

/** The counter of its job, unless it is cancelled. A retry that waits for its device is a retry, too. */
export function countedAs(assignment: Assignment): Counter {
  const { phase, failures } = assignment;
  if (phase === "waiting") return failures > 0 ? "retrying" : "pending";
  return phase === "offered" || phase === "sent" ? "pending" : phase;
}

/** The counter of a phone whose assignment is cancelled. Null: it was only taken back, and may get another one. */
export function cancelledAs(job: JobRow | undefined, reason: string): Counter | null {
  if (reason === "admin") return "cancelled";
  if (job === undefined || job.ended_at === null) return null;
  return job.status === "completed" ? "skipped" : "cancelled";
}

export function deviceOf(row: DeviceRow): Device {
  return {
    id: row.id,
    serial: row.serial_number,
    group: row.group_id,
    pc: row.pc_id,
    capabilities: row.capabilities,
    isAlive: row.status === "error" ? null : row.status !== "offline",
    isRunning: row.status === "busy",
    assignment: null,
    errorCode: row.error_code,
    errorUntil: row.error_until,
    errorCondition: row.error_condition,
    heldUntil: row.held_until,
    changedAt: row.updated_at,
  };
}

export function pcOf(row: PcRow): Pc {
  return { id: row.id, capacity: row.capacity, heldUntil: row.held_until };
}

export function assignmentOf(row: AssignmentRow): Assignment {
  return {
    id: row.id,
    job: row.job_id,
    device: row.device_id,
    phase: phaseOf(row),
    progress: row.progress_pct,
    isAdPlaying: row.ad_playing,
    attempt: row.attempt,
    run: row.run,
    failures: row.retry_count,
    assignedAt: row.assigned_at,
    startedAt: row.started_at,
    timeoutAt: row.timeout_at,
    retryDueAt: row.retry_due_at,
    readUpTo: micros(row.updated_at),
  };
}

export function phaseOf(row: Pick<AssignmentRow, "status" | "retry_due_at" | "assigned_at" | "sent_at">): Phase {
  if (row.status !== "pending") return row.status;
  if (row.retry_due_at !== null) return "retrying";
  if (row.assigned_at === null) return "waiting";
  return row.sent_at === null ? "offered" : "sent";
}

/** Whether it holds the slot of its device. */
export function holdsSlot(assignment: Assignment): boolean {
  return assignment.phase !== "waiting";
}
