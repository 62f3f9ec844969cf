/** Where a test stands, and for how long it may take. */
import { expect, test } from "vitest";
import type { CleanupRunRow, TestRow } from "@/lib/rest/analysis-rows";
import { analysesSearch, SHOWS } from "./search";
import { isShown, STANDINGS, standingOf, TIMEOUTS_DEFAULT, testsFilter, timeoutOf, timeoutsOf } from "./standing";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();

const RUN = {
  started_at: ago(5),
  started_before: ago(35),
  tiers_started_before: { demo: ago(7) },
} as unknown as CleanupRunRow;

function testRow(more: Partial<TestRow>): TestRow {
  return {
    status: "processing",
    reason: null,
    skipped: null,
    created_at: ago(1),
    users: { tier: "free" },
    ...more,
  } as TestRow;
}

test("the last cleanup says for how long a test may take, by tier", () => {
  const timeouts = timeoutsOf(RUN);
  expect([timeoutOf(timeouts, "free"), timeoutOf(timeouts, "demo"), timeoutOf(timeouts, undefined)]).toEqual([
    30 * 60_000,
    2 * 60_000,
    30 * 60_000,
  ]);
  expect(timeoutsOf(undefined)).toBe(TIMEOUTS_DEFAULT);
});

test.each<[string, Partial<TestRow>, string]>([
  ["one that has just begun", {}, "processing"],
  ["one at its limit", { created_at: ago(30) }, "processing"],
  ["one beyond it", { created_at: ago(31) }, "stalled"],
  ["one of a tier with less time", { created_at: ago(3), users: { tier: "demo" } }, "stalled"],
  ["one whose user is gone", { created_at: ago(31), users: null }, "stalled"],
  ["one that could not be given back", { created_at: ago(31), skipped: "frozen" }, "skipped"],
  ["one that its worker completed", { status: "completed", created_at: ago(99) }, "completed"],
  ["one that its worker failed", { status: "failed", reason: "worker" }, "failed"],
  ["one that a cleanup found", { status: "failed", reason: "timeout" }, "cleaned"],
])("%s", (_, row, standing) => expect(standingOf(testRow(row), timeoutsOf(RUN), NOW)).toBe(standing));

test("each choice asks for what it shows", () => {
  expect(Object.fromEntries(SHOWS.map((show) => [show, testsFilter(show, "")]))).toEqual({
    all: {},
    stalled: { status: "eq.processing" },
    processing: { status: "eq.processing" },
    cleaned: { status: "eq.failed", reason: "eq.timeout" },
    failed: { status: "eq.failed", reason: "eq.worker" },
    completed: { status: "eq.completed" },
  });
  expect(testsFilter("cleaned", " demo ")).toEqual({
    status: "eq.failed",
    reason: "eq.timeout",
    user_id: "ilike.*demo*",
  });
});

test("the address holds what is shown", () => {
  expect(analysesSearch({ show: "stalled", user: "u1", nonsense: "x" })).toEqual({ show: "stalled", user: "u1" });
  expect(analysesSearch({ show: "gone" })).toEqual({});
});

test("a test that is not through is either in progress or stalled, in the figures as in the lists", () => {
  const shownIn = (standing: (typeof STANDINGS)[number]) =>
    SHOWS.filter((show) => show !== "all" && isShown(show, standing));
  expect(Object.fromEntries(STANDINGS.map((standing) => [standing, shownIn(standing)]))).toEqual({
    processing: ["processing"],
    stalled: ["stalled"],
    skipped: ["stalled"],
    completed: ["completed"],
    failed: ["failed"],
    cleaned: ["cleaned"],
  });
});
