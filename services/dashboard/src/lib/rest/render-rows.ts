/** Rows of the render queue as `/rest/v1` answers them, column by column. */

/** Stages in the order in which a render goes through them, then the ways it ends. */
export const OPEN_STATUSES = ["pending", "preparing", "rendering", "encoding", "uploading"] as const;
export const ENDED_STATUSES = ["completed", "failed", "cancelled"] as const;
export type OpenStatus = (typeof OPEN_STATUSES)[number];
export type EndedStatus = (typeof ENDED_STATUSES)[number];
export type RenderStatus = OpenStatus | EndedStatus;

/** The stages whose time is taken. */
export const STAGES = ["preparing", "rendering", "encoding", "uploading"] as const;
export type Stage = (typeof STAGES)[number];

export interface RenderRow {
  readonly id: number;
  readonly composition_id: string;
  readonly composition_name: string;
  readonly cue_item_id: string | null;
  readonly broadcast_date: string;
  readonly status: RenderStatus;
  readonly worker_id: string | null;
  readonly lock_expires_at: string | null;
  readonly nexrender_job_id: string | null;
  readonly progress: number;
  readonly output_file_path: string | null;
  readonly output_size_bytes: number | null;
  readonly output_sha256: string | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly recovery_count: number;
  readonly run: number;
  readonly retry_due_at: string | null;
  readonly unmapped_fields: readonly string[];
  readonly created_at: string;
  readonly started_at: string | null;
  readonly updated_at: string;
  readonly completed_at: string | null;
  readonly duration_seconds: number | null;
}

/** All but what was asked to be drawn: that is large, and not for everybody. */
export const RENDER_COLUMNS =
  "id,composition_id,composition_name,cue_item_id,broadcast_date,status,worker_id,lock_expires_at,nexrender_job_id," +
  "progress,output_file_path,output_size_bytes,output_sha256,error_code,error_message,recovery_count,run,retry_due_at," +
  "unmapped_fields,created_at,started_at,updated_at,completed_at,duration_seconds";

/** How long a render was in a stage, against what is usual (003 §2.2). */
export interface StageRow {
  readonly stage: Stage;
  readonly seconds: number;
  readonly under_way: boolean;
  readonly seconds_min: number;
  readonly seconds_max: number;
  readonly verdict: "below" | "within" | "above" | null;
}

export interface AuditRow {
  readonly id: number;
  readonly status_from: RenderStatus | null;
  readonly status_to: RenderStatus;
  readonly worker_id: string | null;
  readonly changed_at: string;
  readonly changed_by: string;
  readonly reason: string | null;
}

export interface RenderWorkerRow {
  readonly worker_id: string;
  readonly status: "busy" | "idle" | "gone";
  readonly last_seen_at: string | null;
  readonly render_queue_id: number | null;
  readonly render_status: RenderStatus | null;
}

export interface RenderFiguresRow {
  readonly pending_count: number;
  readonly avg_duration_seconds: number | null;
  /** Percent of those that ended within a day. */
  readonly success_rate: number | null;
  readonly active_workers: number;
}

export interface CompositionRow {
  readonly id: string;
  readonly name: string;
  readonly template: string;
  readonly output_module: string;
  readonly fields: number;
  readonly updated_at: string;
}

export const FIELD_KINDS = ["data", "image"] as const;
export type FieldKind = (typeof FIELD_KINDS)[number];

export interface FieldRow {
  readonly id: number;
  readonly composition_id: string;
  readonly field_name: string;
  readonly layer_name: string;
  readonly kind: FieldKind;
  readonly property: string;
}
