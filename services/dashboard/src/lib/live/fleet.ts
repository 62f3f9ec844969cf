/** The fleet as this page knows it: devices, PCs, jobs, and the assignments that are under way. */
import type { AlertRow, AssignmentRow, DeviceRow, DeviceStatus, JobRow, WorkerRow } from "../rest/rows";
import type { Frames } from "./frame";
import { Table } from "./table";
import { keyText } from "./told";

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
  readonly changedAt: string;
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
  /** The assignment that holds the slot of a device, also of one that is not known yet. */
  readonly #inHand = new Map<string, string>();

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
    this.#inHand.clear();
  }

  /** Ids of the phones of a PC, by serial number. */
  devicesOf(pc: string): readonly string[] {
    return this.#devicesOfPc.get(pc) ?? [];
  }

  /** What it has in hand follows from its assignments. */
  putDevice(row: Omit<Device, "assignment">): void {
    const device: Device = { ...row, assignment: this.#inHand.get(row.id) ?? null };
    const before = this.devices.get(device.id);
    if (before !== undefined) this.shown[shownAs(before)]--;
    this.shown[shownAs(device)]++;
    if (before?.pc !== device.pc) {
      if (before !== undefined) this.#leavePc(before);
      this.#joinPc(device);
    }
    this.devices.set(device.id, device);
  }

  removeDevice(id: string): void {
    const before = this.devices.get(id);
    if (before === undefined) return;
    this.shown[shownAs(before)]--;
    this.#leavePc(before);
    this.devices.delete(id);
  }

  /** One that is over is not kept. */
  putAssignment(assignment: Assignment): void {
    const { id, device } = assignment;
    if (isOver(assignment)) this.assignments.delete(id);
    else this.assignments.set(id, assignment);
    if (holdsSlot(assignment)) this.#takeInHand(device, id);
    else if (this.#inHand.get(device) === id) this.#takeInHand(device, null);
    this.#touchPcOf(device);
  }

  removeAssignment(id: string): void {
    const before = this.assignments.get(id);
    if (before === undefined) return;
    this.assignments.delete(id);
    if (this.#inHand.get(before.device) === id) this.#takeInHand(before.device, null);
    this.#touchPcOf(before.device);
  }

  forgetJobsEndedBefore(moment: number): void {
    for (const job of [...this.jobs.values()]) {
      if (job.ended_at !== null && Date.parse(job.ended_at) < moment) this.jobs.delete(job.id);
    }
  }

  #takeInHand(device: string, assignment: string | null): void {
    if (assignment === null) this.#inHand.delete(device);
    else this.#inHand.set(device, assignment);
    const known = this.devices.get(device);
    if (known !== undefined && known.assignment !== assignment) this.putDevice(known);
  }

  /** Racks show how far their phones are. */
  #touchPcOf(device: string): void {
    const pc = this.devices.get(device)?.pc;
    if (pc !== undefined) this.devices.touch(pc);
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

/** What the page reads of a device. */
export const DEVICE_COLUMNS = [
  "id",
  "serial_number",
  "group_id",
  "pc_id",
  "status",
  "capabilities",
  "error_code",
  "error_until",
  "error_condition",
  "held_until",
  "updated_at",
] as const satisfies (keyof DeviceRow)[];

export function deviceOf(row: Pick<DeviceRow, (typeof DEVICE_COLUMNS)[number]>): Omit<Device, "assignment"> {
  return {
    id: row.id,
    serial: row.serial_number,
    group: row.group_id,
    pc: row.pc_id,
    capabilities: row.capabilities,
    isAlive: row.status === "error" ? null : row.status !== "offline",
    isRunning: row.status === "busy",
    errorCode: row.error_code,
    errorUntil: row.error_until,
    errorCondition: row.error_condition,
    heldUntil: row.held_until,
    changedAt: row.updated_at,
  };
}

export function pcOf(row: WorkerRow): Pc {
  return { id: row.id, capacity: row.device_capacity, heldUntil: row.held_until };
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
    changedAt: row.updated_at,
  };
}

export function phaseOf(row: Pick<AssignmentRow, "status" | "retry_due_at" | "assigned_at" | "sent_at">): Phase {
  if (row.status !== "pending") return row.status;
  if (row.retry_due_at !== null) return "retrying";
  if (row.assigned_at === null) return "waiting";
  return row.sent_at === null ? "offered" : "sent";
}

/** Whether it holds the slot of its device. */
function holdsSlot(assignment: Assignment): boolean {
  return assignment.phase !== "waiting" && !isOver(assignment);
}

function isOver({ phase }: Assignment): boolean {
  return phase === "completed" || phase === "failed" || phase === "cancelled";
}

/** Ids of alerts are those of their context. */
export function alertKey({ context, id }: Pick<AlertRow, "context" | "id">): string {
  return keyText([context, id]);
}
