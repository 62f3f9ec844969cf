/** Rows of analyses as `/rest/v1` answers them, from the published contract. */
import type { RestCleanupRuns, RestCleanupRunTests, RestSajuTests, RestTestLedger, RestUsers } from "../api/schema";
import type { Row, WithJson } from "./shape";

export type TestRow = Row<RestSajuTests> & { readonly users: { readonly tier: string } | null };

export const TEST_COLUMNS = "*,users(tier)";

export type UserRow = Row<RestUsers>;

/** Without its lists of tests and users: those are read where they are shown. */
const COLUMNS = [
  "id",
  "trigger",
  "by",
  "status",
  "scheduled_for",
  "started_before",
  "tiers_started_before",
  "cleaned_count",
  "skipped_count",
  "users_count",
  "duration_ms",
  "started_at",
  "finished_at",
] as const satisfies (keyof RestCleanupRuns)[];
export const RUN_COLUMNS = COLUMNS.join(",");
export type CleanupRunRow = Pick<
  WithJson<RestCleanupRuns, { tiers_started_before: Readonly<Record<string, string>> }>,
  (typeof COLUMNS)[number]
>;

export type CleanupTestRow = Omit<Row<RestCleanupRunTests>, "run_id">;

export type LedgerRow = Row<RestTestLedger>;
