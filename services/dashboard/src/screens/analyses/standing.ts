/** Where a test stands for people: stalled is one that a cleanup would find now, cleaned one that a cleanup found. */
import type { CleanupRunRow, TestRow } from "@/lib/rest/analysis-rows";
import type { Query } from "@/lib/rest/read";
import { containing } from "@/lib/rest/read";
import type { Show } from "./search";

export const STANDINGS = ["processing", "stalled", "skipped", "completed", "failed", "cleaned"] as const;
export type Standing = (typeof STANDINGS)[number];

/** How long a test may take before it is stalled, by tier. */
export interface Timeouts {
  readonly otherwiseMs: number;
  readonly byTier: Readonly<Record<string, number>>;
}

/** As long as no cleanup has run that would tell (001 §1.3). */
export const TIMEOUTS_DEFAULT: Timeouts = { otherwiseMs: 30 * 60_000, byTier: {} };

/** The last cleanup says which tests it took for stalled, and so for how long they may take. */
export function timeoutsOf(run: CleanupRunRow | undefined): Timeouts {
  if (run === undefined) return TIMEOUTS_DEFAULT;
  const ms = (before: string) => Math.max(0, Date.parse(run.started_at) - Date.parse(before));
  const byTier = Object.entries(run.tiers_started_before).map(([tier, before]) => [tier, ms(before)]);
  return { otherwiseMs: ms(run.started_before), byTier: Object.fromEntries(byTier) };
}

export function timeoutOf(timeouts: Timeouts, tier: string | undefined): number {
  return (tier === undefined ? undefined : timeouts.byTier[tier]) ?? timeouts.otherwiseMs;
}

export function standingOf(test: TestRow, timeouts: Timeouts, now: number): Standing {
  if (test.status === "completed") return "completed";
  if (test.status === "failed") return test.reason === "timeout" ? "cleaned" : "failed";
  if (test.skipped !== null) return "skipped";
  const isLate = now - Date.parse(test.created_at) > timeoutOf(timeouts, test.users?.tier);
  return isLate ? "stalled" : "processing";
}

/** Whether the list that shows these has it. */
export function isShown(show: Show, standing: Standing): boolean {
  if (show === "stalled") return standing === "stalled" || standing === "skipped";
  return show === "all" || standing === show;
}

/** What the server is asked. Which of those under way are stalled is told here: it depends on the time. */
export function testsFilter(show: Show, text: string): Query {
  const named: Query = text.trim() === "" ? {} : { user_id: containing(text) };
  switch (show) {
    case "all":
      return named;
    case "stalled":
    case "processing":
      return { ...named, status: "eq.processing" };
    case "cleaned":
      return { ...named, status: "eq.failed", reason: "eq.timeout" };
    case "failed":
      return { ...named, status: "eq.failed", reason: "eq.worker" };
    case "completed":
      return { ...named, status: "eq.completed" };
  }
}
