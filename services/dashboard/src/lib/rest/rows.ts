/** Rows as `/rest/v1` answers them, column by column. Times are RFC 3339 texts. */

export type DeviceStatus = "online" | "busy" | "offline" | "error";

export interface DeviceRow {
  readonly id: string;
  readonly serial_number: string;
  readonly group_id: string;
  readonly pc_id: string;
  readonly status: DeviceStatus;
  readonly capabilities: readonly string[];
  readonly last_seen_at: string | null;
  readonly error_code: string | null;
  readonly error_until: string | null;
  readonly error_condition: string | null;
  readonly held_until: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface PcRow {
  readonly id: string;
  readonly capacity: number;
  readonly held_until: string | null;
}

export type JobStatus = "created" | "active" | "paused" | "completed" | "expired" | "deactivated" | "cancelled";

export interface Target {
  readonly group_id?: string;
  readonly pc_id?: string;
  readonly device_ids?: readonly string[];
  readonly count?: number;
}

/** How many of a job's phones stand where. Each is counted once; one whose offer was taken back not at all. */
export interface Counters {
  readonly pending: number;
  readonly running: number;
  readonly retrying: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Of a completed job: phones that it was for and did not reach. */
  readonly skipped: number;
}

export interface JobRow extends Counters {
  readonly id: string;
  readonly title: string | null;
  readonly target_url: string;
  readonly script_type: string;
  readonly duration_min_pct: number;
  readonly duration_max_pct: number;
  readonly prob_like: number;
  readonly prob_comment: number;
  readonly prob_playlist: number;
  readonly is_active: boolean;
  readonly base_reward: number;
  readonly target: Target | null;
  readonly status: JobStatus;
  readonly needs: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
  readonly activated_at: string | null;
  readonly ended_at: string | null;
  readonly paused_for: string | null;
  readonly end_reason: string | null;
}

export type AssignmentStatus = "pending" | "running" | "completed" | "failed" | "cancelled";

export interface AssignmentRow {
  readonly id: string;
  readonly job_id: string;
  readonly device_id: string;
  readonly pc_id: string;
  readonly status: AssignmentStatus;
  readonly progress_pct: number;
  readonly attempt: number;
  readonly run: number;
  readonly retry_count: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly ad_playing: boolean;
  readonly assigned_at: string | null;
  readonly sent_at: string | null;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly timeout_at: string | null;
  readonly retry_due_at: string | null;
  readonly reason: string | null;
  readonly updated_at: string;
}

export type AttemptEventType =
  | "CREATED"
  | "SENT"
  | "ACKED"
  | "SUCCEEDED"
  | "FAILED"
  | "TIMEOUT"
  | "RETRY_SCHEDULED"
  | "FAILED_FINAL"
  | "ROLLED_BACK"
  | "CANCELLED"
  | "STALE_REPORT";

/** One line of the history of attempts. */
export interface TaskEventRow {
  readonly id: number;
  readonly task_id: string;
  readonly task_device_id: string;
  readonly device_id: string;
  readonly pc_id: string;
  readonly attempt: number;
  readonly run: number;
  readonly event_type: AttemptEventType;
  readonly level: "info" | "warning" | "error";
  readonly error_code: string | null;
  readonly message: string | null;
  readonly due_at: string | null;
  readonly screenshot_ref: string | null;
  readonly activity_stack: string | null;
  readonly by: string;
  readonly created_at: string;
}

export interface AlertRow {
  readonly context: string;
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly raised_at: string;
  readonly until: string | null;
  readonly resolved_at: string | null;
  readonly reason: string | null;
}

export interface EventRow {
  readonly context: string;
  readonly seq: number;
  readonly line: number;
  readonly n: number;
  readonly at: string;
  readonly type: string;
  readonly by: string;
  readonly cause: string;
  readonly entities: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** Why something waits: what must pass first is named first. */
export interface Explanation {
  readonly about: "assignment" | "job" | "device";
  readonly id: string;
  readonly status: string;
  readonly reasons: readonly Reason[];
}

export interface Reason {
  readonly sentence: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly code: string };
}
