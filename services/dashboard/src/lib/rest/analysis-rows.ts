/** Rows of analyses as `/rest/v1` answers them, column by column. */

export type TestStatus = "processing" | "completed" | "failed";

export interface TestRow {
  readonly id: string;
  readonly user_id: string;
  readonly status: TestStatus;
  /** Who says that it failed: its worker, or a cleanup. */
  readonly reason: "worker" | "timeout" | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly result_ref: string | null;
  readonly refunded: boolean;
  readonly cleanup_run_id: string | null;
  /** Why a cleanup could not give back what it cost. */
  readonly skipped: string | null;
  readonly late_report: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly completed_at: string | null;
  readonly users: { readonly tier: string } | null;
}

export const TEST_COLUMNS = "*,users(tier)";

export interface UserRow {
  readonly id: string;
  readonly tier: string;
  readonly remaining_tests: number;
  readonly frozen: boolean;
  readonly granted: number;
  readonly charged: number;
  readonly refunded: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface CleanupRunRow {
  readonly id: string;
  readonly trigger: "cron" | "manual";
  readonly by: string;
  readonly status: "running" | "finished";
  readonly scheduled_for: string | null;
  /** Tests that began before this were stalled. */
  readonly started_before: string;
  readonly tiers_started_before: Readonly<Record<string, string>>;
  readonly cleaned_count: number;
  readonly skipped_count: number;
  readonly users_count: number;
  readonly duration_ms: number | null;
  readonly started_at: string;
  readonly finished_at: string | null;
}

/** Without its lists of tests and users: those are read where they are shown. */
export const RUN_COLUMNS =
  "id,trigger,by,status,scheduled_for,started_before,tiers_started_before,cleaned_count,skipped_count,users_count," +
  "duration_ms,started_at,finished_at";

export interface CleanupTestRow {
  readonly id: number;
  readonly test_id: string;
  readonly user_id: string;
  readonly outcome: "cleaned" | "skipped";
  readonly reason: string | null;
  readonly created_at: string;
}

export interface LedgerRow {
  readonly id: number;
  readonly user_id: string;
  readonly kind: string;
  readonly amount: number;
  readonly remaining_tests: number;
  readonly test_id: string | null;
  readonly cleanup_run_id: string | null;
  readonly by: string;
  readonly created_at: string;
}
