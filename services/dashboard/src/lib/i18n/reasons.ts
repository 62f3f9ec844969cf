/** Why something waits, as the server's data has it (`rpc/why`). Each language says it in its own words. */

export const REASON_CODES = [
  "job_behind",
  "job_paused",
  "job_inactive",
  "job_scheduled",
  "job_active",
  "job_withdrawing",
  "job_given_up",
  "look_under_way",
  "job_has_its_number",
  "no_device_in_target",
  "no_device_capable",
  "no_device_left",
  "no_device_online",
  "no_device_free",
  "pc_full",
  "pcs_full",
  "job_completed",
  "job_expired",
  "job_deactivated",
  "job_cancelled",
  "retry_due",
  "offer_not_fetched",
  "sent_not_begun",
  "running",
  "ad_playing",
  "assignment_completed",
  "assignment_failed",
  "assignment_cancelled",
  "device_error",
  "device_offline",
  "device_held",
  "pc_held",
  "device_in_flight",
  "capability_missing",
  "not_in_target",
  "job_ran_here",
  "no_job",
  "nothing",
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** What a reason may carry. Which of it is there depends on its code. */
export interface ReasonData {
  readonly code: string;
  readonly job_id?: string;
  readonly device_id?: string;
  readonly assignment_id?: string;
  readonly pc_id?: string;
  readonly behind?: string;
  readonly since?: string;
  readonly ahead?: number;
  readonly preferred?: number;
  readonly poison?: string | null;
  readonly in_flight?: number;
  readonly completed?: number;
  readonly failed?: number;
  readonly left?: number;
  readonly rules?: readonly string[];
  readonly reported?: number;
  readonly counted?: number;
  readonly needed?: number;
  readonly seen?: number;
  readonly total?: number;
  readonly count?: number;
  readonly target?: Readonly<Record<string, unknown>> | number | null;
  readonly looked_at?: number;
  readonly capability?: string;
  readonly capabilities?: readonly string[];
  readonly offline?: number;
  readonly in_error?: number;
  readonly held?: number;
  readonly on_held_pc?: number;
  readonly in_use?: number;
  readonly pcs?: number;
  readonly ended_at?: string | null;
  readonly due_at?: string | null;
  readonly attempt?: number;
  readonly error_code?: string | null;
  readonly offered_at?: string | null;
  readonly sent_at?: string | null;
  readonly started_at?: string | null;
  readonly timeout_at?: string | null;
  readonly until?: string | null;
  readonly progress_pct?: number;
  readonly failed_attempts?: number;
  readonly rule?: string;
  readonly condition?: string | null;
  readonly untaken?: number;
  readonly phase?: string;
  readonly waiting?: number;
  readonly not_before?: string | null;
  readonly was_scheduled?: boolean;
  readonly scheduled?: number;
  readonly next_at?: string;
}

/** Ids as people know them, and moments on their clock. */
export interface Names {
  readonly job: (id: string | undefined) => string;
  readonly device: (id: string | undefined) => string;
  readonly time: (at: string | null | undefined) => string;
}

export type Reasons = Record<ReasonCode, (data: ReasonData, names: Names) => string>;
