/** Why a render, a test or a reminder stands where it does, as `/api/why` has it. Each language says it in its own words. */

export const WORK_REASON_CODES = [
  "render_alert",
  "no_render_worker",
  "render_workers_busy",
  "renders_ahead",
  "render_next",
  "render_retry",
  "render_worker_gone",
  "render_slow",
  "render_working",
  "render_completed",
  "render_cancelled",
  "render_failed",
  "test_running",
  "test_no_cleanup",
  "test_may_take",
  "test_skipped",
  "test_overdue",
  "test_completed",
  "test_failed",
  "test_refunded",
  "test_not_refunded",
  "test_late_report",
  "alarm_alert",
  "alarm_sending",
  "alarm_unknown",
  "alarm_retry",
  "alarm_upcoming",
  "alarm_due",
  "alarm_shifted",
  "alarm_sent",
] as const;
export type WorkReasonCode = (typeof WORK_REASON_CODES)[number];

/** What a reason may carry. Which of it is there depends on its code. */
export interface WorkReasonData {
  readonly code: string;
  readonly kind?: string;
  readonly message?: string | null;
  readonly gone?: number;
  readonly workers?: number;
  readonly ahead?: number;
  /** Whether there are more than were counted. */
  readonly is_more?: boolean;
  readonly due_at?: string | null;
  readonly until?: string | null;
  readonly since?: string;
  readonly ended_at?: string;
  readonly sent_at?: string;
  readonly worker_id?: string | null;
  readonly stage?: string;
  readonly seconds?: number;
  readonly usual?: number;
  readonly progress_pct?: number;
  readonly error_code?: string | null;
  readonly rule?: string | null;
  readonly reported?: string;
  readonly attempt?: number;
  readonly minutes?: number;
}

export interface WorkNames {
  readonly time: (at: string | null | undefined) => string;
  /** The name of a render's stage. */
  readonly stage: (stage: string | undefined) => string;
  /** A fault by its code, in words where there are some. */
  readonly fault: (code: string | null | undefined) => string;
}

export type WorkReasons = Record<WorkReasonCode, (data: WorkReasonData, names: WorkNames) => string>;
