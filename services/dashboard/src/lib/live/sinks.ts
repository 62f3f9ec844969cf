/** How the rows of each relation are read, and where they are kept. */
import { oneOf, pages, type ReadOptions, rows, type Server } from "../rest/read";
import type { AlertRow, AssignmentRow, DeviceRow, JobRow, WorkerRow } from "../rest/rows";
import { alertKey, assignmentOf, DEVICE_COLUMNS, deviceOf, type FleetStore, pcOf } from "./fleet";
import type { Sink } from "./followed";
import { readHistory } from "./history";
import { micros } from "./moment";
import type { CountedRow, Tally } from "./tally";

const ALERTS_MAX = 1000;
/** Jobs of which work may be under way: those that are open, and those that ended so shortly ago that some still runs. */
const ENDED_WITHIN_MS = 30 * 60_000;
/** A job lives for 24 h, so none that is of interest is older. The row's index is by this column. */
const CREATED_WITHIN_MS = 25 * 3_600_000;
/** Jobs in one question, so that its address stays short. */
const JOBS_AT_ONCE = 50;

export const OPEN_JOBS = "in.(created,active,paused)";

const ASSIGNMENT_COLUMNS =
  "id,job_id,device_id,status,progress_pct,attempt,run,retry_count,ad_playing,assigned_at,sent_at,started_at," +
  "timeout_at,retry_due_at,updated_at";

/** Rows come as JSON: their form is the contract's word. */
const asSink = <Row>(sink: Sink<Row>): Sink => sink as unknown as Sink;

/** `tell`: how many devices have been read so far. */
export function deviceSink(server: Server, fleet: FleetStore, tell: (devices: number) => void): Sink {
  return asSink<DeviceRow>({
    async *read(options) {
      for await (const page of pages<DeviceRow>(server, "devices", { select: DEVICE_COLUMNS.join(",") }, options)) {
        yield page;
        tell(fleet.devices.size);
      }
    },
    put: (row) => fleet.putDevice(deviceOf(row)),
    tell: (row) => {
      if (!isOlder(row.updated_at, fleet.devices.get(row.id)?.changedAt)) fleet.putDevice(deviceOf(row));
    },
    remove: (id) => fleet.removeDevice(id),
    keys: () => fleet.devices.keys(),
  });
}

export function pcSink(server: Server, fleet: FleetStore): Sink {
  const put = (row: WorkerRow) => fleet.pcs.set(row.id, pcOf(row));
  return asSink<WorkerRow>({
    // `workers` counts no devices: `pcs` would count them all for each page.
    read: (options) => pages<WorkerRow>(server, "workers", { select: "id,device_capacity,held_until" }, options),
    put,
    tell: put,
    remove: (id) => fleet.pcs.delete(id),
    keys: () => fleet.pcs.keys(),
  });
}

export function jobSink(server: Server, fleet: FleetStore): Sink {
  return asSink<JobRow>({
    read: (options) => readJobs(server, options),
    put: (row) => fleet.jobs.set(row.id, row),
    tell: (row) => {
      if (!isOlder(row.updated_at, fleet.jobs.get(row.id)?.updated_at)) fleet.jobs.set(row.id, row);
    },
    remove: (id) => fleet.jobs.delete(id),
    keys: () => fleet.jobs.keys(),
  });
}

async function* readJobs(server: Server, options: ReadOptions): AsyncGenerator<JobRow[]> {
  const since = new Date(Date.now() - CREATED_WITHIN_MS).toISOString();
  const ended = new Date(Date.now() - ENDED_WITHIN_MS).toISOString();
  const [open, recent] = await Promise.all([
    rows<JobRow>(server, "jobs", { status: OPEN_JOBS, order: "created_at", limit: 1000 }, options),
    rows<JobRow>(server, "jobs", { created_at: `gt.${since}`, ended_at: `gt.${ended}`, limit: 1000 }, options),
  ]);
  yield [...open, ...recent];
}

/** To be read after the jobs. */
export function assignmentSink(server: Server, fleet: FleetStore, tally: Tally): Sink {
  return asSink<AssignmentRow>({
    read: (options) => readAssignments(server, fleet, options),
    put: (row) => fleet.putAssignment(assignmentOf(row)),
    tell: (row) => {
      const before = fleet.assignments.get(row.id);
      if (isOlder(row.updated_at, before?.changedAt)) return;
      tally.delay(row.updated_at, Date.now());
      const after = assignmentOf(row);
      const hasStarted = after.phase === "running" && before?.startedAt !== after.startedAt;
      if (hasStarted) tally.start(after.assignedAt, after.startedAt);
      fleet.putAssignment(after);
    },
    remove: (id) => fleet.removeAssignment(id),
    keys: () => fleet.assignments.keys(),
  });
}

async function* readAssignments(
  server: Server,
  fleet: FleetStore,
  options: ReadOptions,
): AsyncGenerator<AssignmentRow[]> {
  const jobs = [...fleet.jobs.keys()];
  for (let from = 0; from < jobs.length; from += JOBS_AT_ONCE) {
    const job_id = oneOf(jobs.slice(from, from + JOBS_AT_ONCE));
    const query = { select: ASSIGNMENT_COLUMNS, job_id, status: "in.(pending,running)" };
    yield* pages<AssignmentRow>(server, "job_assignments", query, options);
  }
}

/** Open ones, of every context. */
export function alertSink(server: Server, fleet: FleetStore): Sink {
  const put = (row: AlertRow) => {
    if (row.resolved_at === null) fleet.alerts.set(alertKey(row), row);
    else fleet.alerts.delete(alertKey(row));
  };
  return asSink<AlertRow>({
    async *read(options) {
      const query = { resolved_at: "is.null", order: "raised_at.desc", limit: ALERTS_MAX };
      yield await rows<AlertRow>(server, "alerts", query, options);
    },
    put,
    tell: put,
    remove: (key) => fleet.alerts.delete(key),
    keys: () => fleet.alerts.keys(),
  });
}

/** The history of attempts is counted, not kept. Of what was told and read only the ids of the read are known. */
export function attemptSink(server: Server, tally: Tally): Sink {
  let counted = new Set<number>();
  return asSink<CountedRow>({
    async *read(options) {
      yield await readHistory(server, options);
      tally.pastWasRead();
    },
    begin: () => {
      counted = new Set();
      tally.recount();
    },
    put: (row) => {
      if (counted.has(row.id)) return;
      counted.add(row.id);
      tally.count(row);
    },
    tell: (row) => {
      tally.delay(row.created_at, Date.now());
      if (!counted.has(row.id)) tally.count(row);
    },
    remove: () => {},
    keys: () => [],
  });
}

/** No event happens before the one before it, so no row goes back in time. */
function isOlder(told: string, known: string | undefined): boolean {
  return known !== undefined && known !== told && micros(told) < micros(known);
}
