/** Rows as `/rest/v1` answers them, from the published contract. Times are RFC 3339 texts. */
import type {
  NewJob as NewJobBody,
  RestAlerts,
  RestDevices,
  RestEvents,
  RestJobAssignments,
  RestJobs,
  RestTasksEvent,
  RestWorkers,
} from "../api/schema";
import type { Json, Row, WithJson } from "./shape";

export type DeviceRow = Row<RestDevices>;
export type DeviceStatus = DeviceRow["status"];

/** Of a PC; its devices are counted from their own rows. */
export type WorkerRow = Pick<Row<RestWorkers>, "id" | "device_capacity" | "held_until">;

/** Which devices a job is for. */
export interface Target {
  readonly group_id?: string;
  readonly pc_id?: string;
  readonly device_ids?: readonly string[];
  readonly count?: number;
}

export type JobRow = WithJson<RestJobs, { target: Target | null }>;
export type JobStatus = JobRow["status"];

/** What a client may set on a job. */
export type JobFields = { readonly [K in Exclude<keyof NewJobBody, "id">]-?: JobRow[K] };

/** How many of a job's phones stand where. Each is counted once; one whose offer was taken back not at all. */
export type Counters = Pick<
  JobRow,
  "pending" | "running" | "retrying" | "completed" | "failed" | "cancelled" | "skipped"
>;

/** Of an assignment, what screens show: not what its phone did there. */
export type AssignmentRow = Omit<
  Row<RestJobAssignments>,
  "created_at" | "timed_out" | "actual_duration_sec" | `did_${string}`
>;

/** One line of the history of attempts. */
export type TaskEventRow = Row<RestTasksEvent>;
export type AttemptEventType = TaskEventRow["event_type"];

export type AlertRow = WithJson<RestAlerts, { details: Json }>;

export type EventRow = Omit<WithJson<RestEvents, { data: Json }>, "trace">;

/** Why something waits: what must pass first is named first. */
export interface Explanation {
  readonly about: "assignment" | "job" | "device" | "render" | "test" | "reminder";
  readonly id: string;
  readonly status: string;
  readonly reasons: readonly Reason[];
}

export interface Reason {
  readonly sentence: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly code: string };
}
