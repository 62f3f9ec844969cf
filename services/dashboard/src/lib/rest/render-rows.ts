/** Rows of the render queue as `/rest/v1` answers them, from the published contract. */
import type {
  RestAepCompositions,
  RestAepFieldMapping,
  RestRenderFigures,
  RestRenderQueue,
  RestRenderQueueAudit,
  RestRenderStages,
  RestRenderWorkers,
} from "../api/schema";
import type { Row } from "./shape";

/** Stages in the order in which a render goes through them, then the ways it ends. */
export const OPEN_STATUSES = ["pending", "preparing", "rendering", "encoding", "uploading"] as const;
export const ENDED_STATUSES = ["completed", "failed", "cancelled"] as const;
export type OpenStatus = (typeof OPEN_STATUSES)[number];
export type EndedStatus = (typeof ENDED_STATUSES)[number];
export type RenderStatus = OpenStatus | EndedStatus;

/** The stages whose time is taken. */
export const STAGES = ["preparing", "rendering", "encoding", "uploading"] as const;
export type Stage = (typeof STAGES)[number];

/** All but what was asked to be drawn: that is large, and not for everybody. */
const COLUMNS = [
  "id",
  "composition_id",
  "composition_name",
  "cue_item_id",
  "broadcast_date",
  "status",
  "worker_id",
  "lock_expires_at",
  "nexrender_job_id",
  "progress",
  "output_file_path",
  "output_size_bytes",
  "output_sha256",
  "error_code",
  "error_message",
  "recovery_count",
  "run",
  "retry_due_at",
  "unmapped_fields",
  "created_at",
  "started_at",
  "updated_at",
  "completed_at",
  "duration_seconds",
] as const satisfies (keyof RestRenderQueue)[];
export const RENDER_COLUMNS = COLUMNS.join(",");
export type RenderRow = Pick<Row<RestRenderQueue>, (typeof COLUMNS)[number]>;

/** How long a render was in a stage, against what is usual (003 §2.2). */
export type StageRow = Omit<Row<RestRenderStages>, "render_queue_id" | "number">;

export type AuditRow = Omit<Row<RestRenderQueueAudit>, "render_queue_id">;

export type RenderWorkerRow = Omit<Row<RestRenderWorkers>, "run" | "lock_expires_at">;

export type RenderFiguresRow = Row<RestRenderFigures>;

export type CompositionRow = Omit<Row<RestAepCompositions>, "created_at">;

export const FIELD_KINDS = ["data", "image", "expression"] as const;
export type FieldKind = (typeof FIELD_KINDS)[number];

export type FieldRow = Omit<Row<RestAepFieldMapping>, "created_at" | "updated_at">;
