/** What charts are drawn from: each end counted once, in its second, and bounded. */
import { beforeEach, expect, test } from "vitest";
import { type CountedRow, quantile, Tally, WINDOW_S } from "./tally";

const NOW = Date.parse("2026-11-16T09:00:00Z");
let tally: Tally;

beforeEach(() => {
  tally = new Tally();
});

const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();

function count(event_type: CountedRow["event_type"], secondsAgo: number, more: Partial<CountedRow> = {}): void {
  const row = { id: 1, event_type, error_code: null, device_id: "D1", task_id: "J1", created_at: ago(secondsAgo) };
  tally.count({ ...row, ...more });
}

test("ends are counted by how they ended", () => {
  count("SUCCEEDED", 10);
  count("FAILED", 10, { error_code: "APP_CRASH" });
  count("TIMEOUT", 10);
  count("ROLLED_BACK", 10);
  count("SENT", 10);
  expect(tally.sumSince(NOW - 60_000)).toEqual({ completed: 1, failed: 2, lost: 1 });
});

test("phones that are through with a job are counted for that job, and a failure that is retried is none", () => {
  count("SUCCEEDED", 10);
  count("FAILED", 10, { error_code: "APP_CRASH" });
  count("FAILED_FINAL", 5, { error_code: "APP_CRASH" });
  count("SUCCEEDED", 5, { task_id: "J2" });
  expect(tally.endsSince("J1", NOW - 60_000)).toBe(2);
  expect(tally.endsSince("J1", NOW - 7_000)).toBe(1);
  expect(tally.endsSince("J2", NOW - 60_000)).toBe(1);
});

test("what is longer ago than it remembers does not come back as new", () => {
  count("SUCCEEDED", WINDOW_S + 5);
  count("SUCCEEDED", 5);
  count("SUCCEEDED", WINDOW_S + 5); // the same place in the ring, and older
  expect(tally.sumSince(0).completed).toBe(1);
});

test("a series has a column for each step, without the one that is under way", () => {
  count("SUCCEEDED", 20);
  count("SUCCEEDED", 25);
  count("SUCCEEDED", 0);
  const series = tally.series(NOW, 15);
  expect(series.times.at(-1)).toBe(NOW / 1000 - 15);
  expect(series.completed.at(-2)).toBe(2);
  expect(series.completed.at(-1)).toBe(0);
  expect(series.times).toHaveLength(series.completed.length);
});

test("the wait from offer to start is told in quantiles, and as nothing where nothing started", () => {
  for (const wait of [1, 2, 3, 10]) tally.start(ago(20 + wait), ago(20));
  tally.start(null, ago(20));
  const series = tally.series(NOW, 15);
  expect(series.waitP50.at(-2)).toBe(3_000);
  expect(series.waitP95.at(-2)).toBe(10_000);
  expect(series.waitP50.at(-1)).toBeNull();
});

test("failures are counted by their cause, however many there are", () => {
  count("TIMEOUT", 60);
  for (let phone = 0; phone < 2_000; phone++) count("FAILED", phone % 100, { error_code: "APP_CRASH" });
  count("FAILED", 700, { error_code: "E4001" });
  count("FAILED_FINAL", 5, { error_code: "APP_CRASH" }); // the same failure once more
  expect([...tally.causesSince(NOW - 600_000)].sort()).toEqual([
    ["APP_CRASH", 2_000],
    ["TIMEOUT", 1],
  ]);
});

test("counted anew, attempts are counted once, and what this page has measured stays", () => {
  count("SUCCEEDED", 20);
  count("FAILED", 20);
  tally.start(ago(23), ago(20));
  tally.delay(ago(20), NOW - 19_000);
  tally.recount();
  count("SUCCEEDED", 20);
  expect(tally.sumSince(0)).toEqual({ completed: 1, failed: 0, lost: 0 });
  expect(tally.endsSince("J1", 0)).toBe(1);
  expect(tally.causesSince(0).size).toBe(0);
  const series = tally.series(NOW, 15);
  expect([series.waitP50.at(-2), series.delay.at(-2)]).toEqual([3_000, 1_000]);
});

test("quantiles of nothing are nothing", () => {
  expect(quantile([], 0.5)).toBeNull();
  expect(quantile([7], 0.95)).toBe(7);
});
