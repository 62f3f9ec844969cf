/** Reads the fleet as it stands: the rows from which the events go on. */
import { oneOf, pages, type ReadOptions, rows, type Server } from "../rest/read";
import type { AlertRow, AssignmentRow, DeviceRow, JobRow, PcRow } from "../rest/rows";
import { assignmentOf, deviceOf, type FleetStore, holdsSlot, pcOf } from "./fleet";
import { inSlices } from "./slices";

const ALERTS_MAX = 1000;
/** Jobs of which work may be under way: those that are open, and those that ended so shortly ago that some still runs. */
const ENDED_WITHIN_MS = 30 * 60_000;
/** A job lives for 24 h, so none that is of interest is older. The row's index is by this column. */
const CREATED_WITHIN_MS = 25 * 3_600_000;
/** Jobs in one question, so that its address stays short. */
const JOBS_AT_ONCE = 50;

export const OPEN_JOBS = "in.(created,active,paused)";

const DEVICE_COLUMNS =
  "id,serial_number,group_id,pc_id,status,capabilities,error_code,error_until,error_condition,held_until,updated_at";
const ASSIGNMENT_COLUMNS =
  "id,job_id,device_id,status,progress_pct,attempt,run,retry_count,ad_playing,assigned_at,sent_at,started_at," +
  "timeout_at,retry_due_at,updated_at";

/** Told while it goes on: how many devices have been read. */
export async function loadFleet(
  server: Server,
  fleet: FleetStore,
  options: ReadOptions,
  tell: (devices: number) => void,
): Promise<void> {
  await Promise.all([
    loadAlerts(server, fleet, options),
    loadJobs(server, fleet, options),
    loadPcs(server, fleet, options),
    loadDevices(server, fleet, options, tell),
  ]);
  await loadAssignments(server, fleet, options);
  // What they did ended between the two reads.
  for (const device of fleet.devices.values()) {
    if (device.isRunning && device.assignment === null) fleet.markStale("devices", device.id);
  }
}

async function loadAlerts(server: Server, fleet: FleetStore, options: ReadOptions): Promise<void> {
  const query = { resolved_at: "is.null", order: "raised_at.desc", limit: ALERTS_MAX };
  for (const alert of await rows<AlertRow>(server, "alerts", query, options)) fleet.alerts.set(alert.id, alert);
}

async function loadPcs(server: Server, fleet: FleetStore, options: ReadOptions): Promise<void> {
  // Of `workers`, which counts no devices: `pcs` would count them all for each page.
  const query = { select: "id,capacity:device_capacity,held_until" };
  for await (const page of pages<PcRow>(server, "workers", query, options)) {
    for (const row of page) fleet.pcs.set(row.id, pcOf(row));
  }
}

async function loadDevices(
  server: Server,
  fleet: FleetStore,
  options: ReadOptions,
  tell: (devices: number) => void,
): Promise<void> {
  for await (const page of pages<DeviceRow>(server, "devices", { select: DEVICE_COLUMNS }, options)) {
    await inSlices(page, (row) => fleet.putDevice(deviceOf(row)));
    tell(fleet.devices.size);
  }
}

async function loadJobs(server: Server, fleet: FleetStore, options: ReadOptions): Promise<void> {
  const since = new Date(Date.now() - CREATED_WITHIN_MS).toISOString();
  const ended = new Date(Date.now() - ENDED_WITHIN_MS).toISOString();
  const [open, recent] = await Promise.all([
    rows<JobRow>(server, "jobs", { status: OPEN_JOBS, order: "created_at", limit: 1000 }, options),
    rows<JobRow>(server, "jobs", { created_at: `gt.${since}`, ended_at: `gt.${ended}`, limit: 1000 }, options),
  ]);
  for (const row of [...open, ...recent]) fleet.jobs.set(row.id, row);
}

async function loadAssignments(server: Server, fleet: FleetStore, options: ReadOptions): Promise<void> {
  const jobs = [...fleet.jobs.keys()];
  for (let from = 0; from < jobs.length; from += JOBS_AT_ONCE) {
    const job_id = oneOf(jobs.slice(from, from + JOBS_AT_ONCE));
    const query = { select: ASSIGNMENT_COLUMNS, job_id, status: "in.(pending,running)" };
    for await (const page of pages<AssignmentRow>(server, "job_assignments", query, options)) {
      await inSlices(page, (row) => takeUp(fleet, row));
    }
  }
}

/** Not `moveAssignment`: the rows of jobs have counted it. */
function takeUp(fleet: FleetStore, row: AssignmentRow): void {
  const assignment = assignmentOf(row);
  fleet.assignments.set(assignment.id, assignment);
  if (holdsSlot(assignment) && fleet.devices.get(assignment.device) !== undefined) {
    fleet.changeDevice(assignment.device, { assignment: assignment.id, isRunning: assignment.phase === "running" });
  }
}

/** Reads again what events alone cannot tell: counters of jobs, and devices that they only mentioned. */
export async function readStale(server: Server, fleet: FleetStore, options: ReadOptions): Promise<void> {
  const jobs = fleet.takeStale("jobs", JOBS_AT_ONCE);
  const devices = fleet.takeStale("devices", JOBS_AT_ONCE);
  const [jobRows, deviceRows] = await Promise.all([
    jobs.length === 0 ? [] : rows<JobRow>(server, "jobs", { id: oneOf(jobs) }, options),
    devices.length === 0
      ? []
      : rows<DeviceRow>(server, "devices", { select: DEVICE_COLUMNS, id: oneOf(devices) }, options),
  ]);
  for (const row of jobRows) mergeJob(fleet, row);
  for (const row of deviceRows) mergeDevice(fleet, row);
}

/** The row may be a moment older than the events that came while it was read. */
function mergeJob(fleet: FleetStore, row: JobRow): void {
  const known = fleet.jobs.get(row.id);
  const isOlder = known !== undefined && Date.parse(row.updated_at) < Date.parse(known.updated_at);
  const { pending, running, retrying, completed, failed, cancelled, skipped } = row;
  const counters = { pending, running, retrying, completed, failed, cancelled, skipped };
  fleet.jobs.set(row.id, isOlder ? { ...known, ...counters } : row);
}

function mergeDevice(fleet: FleetStore, row: DeviceRow): void {
  const known = fleet.devices.get(row.id);
  if (known !== undefined && Date.parse(row.updated_at) < Date.parse(known.changedAt)) return;
  fleet.putDevice({ ...deviceOf(row), assignment: known?.assignment ?? null });
}
