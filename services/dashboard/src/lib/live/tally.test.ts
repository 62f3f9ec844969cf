/** What charts are drawn from: each end counted once, in its second, and bounded. */
import { beforeEach, expect, test } from "vitest";
import type { Envelope } from "./events";
import { quantile, Tally, WINDOW_S } from "./tally";

const NOW = Date.parse("2026-11-16T09:00:00Z");
let tally: Tally;

beforeEach(() => {
  tally = new Tally();
});

function hear(type: string, secondsAgo: number, more: object = {}, offeredAgo: number | null = null): void {
  const at = new Date(NOW - secondsAgo * 1000).toISOString();
  const offered = offeredAgo === null ? null : new Date(NOW - offeredAgo * 1000).toISOString();
  tally.hear({ type, at, device_id: "D1", job_id: "J1", ...more } as unknown as Envelope, offered, NOW);
}

test("ends are counted by how they ended", () => {
  hear("AttemptSucceeded", 10);
  hear("AttemptFailed", 10, { code: "APP_CRASH" });
  hear("AttemptTimedOut", 10);
  hear("AttemptRolledBack", 10);
  hear("AttemptProgressed", 10);
  expect(tally.sumSince(NOW - 60_000)).toEqual({ completed: 1, failed: 2, lost: 1 });
});

test("phones that are through with a job are counted for that job, and a failure that is retried is none", () => {
  hear("AttemptSucceeded", 10);
  hear("AttemptFailed", 10, { code: "APP_CRASH" });
  hear("AttemptFailedFinal", 5, { code: "APP_CRASH" });
  hear("AttemptSucceeded", 5, { job_id: "J2" });
  tally.addPastEnd(new Date(NOW - 20_000).toISOString(), "J1");
  expect(tally.endsSince("J1", NOW - 60_000)).toBe(3);
  expect(tally.endsSince("J1", NOW - 7_000)).toBe(1);
  expect(tally.endsSince("J2", NOW - 60_000)).toBe(1);
});

test("what is longer ago than it remembers does not come back as new", () => {
  hear("AttemptSucceeded", WINDOW_S + 5);
  hear("AttemptSucceeded", 5);
  hear("AttemptSucceeded", WINDOW_S + 5); // the same place in the ring, and older
  expect(tally.sumSince(0).completed).toBe(1);
});

test("a series has a column for each step, without the one that is under way", () => {
  hear("AttemptSucceeded", 20);
  hear("AttemptSucceeded", 25);
  hear("AttemptSucceeded", 0);
  const series = tally.series(NOW, 15);
  expect(series.times.at(-1)).toBe(NOW / 1000 - 15);
  expect(series.completed.at(-2)).toBe(2);
  expect(series.completed.at(-1)).toBe(0);
  expect(series.times).toHaveLength(series.completed.length);
});

test("the wait from offer to start is told in quantiles, and as nothing where nothing started", () => {
  for (const wait of [1, 2, 3, 10]) hear("AttemptStarted", 20, {}, 20 + wait);
  const series = tally.series(NOW, 15);
  expect(series.waitP50.at(-2)).toBe(3_000);
  expect(series.waitP95.at(-2)).toBe(10_000);
  expect(series.waitP50.at(-1)).toBeNull();
});

test("failures are kept with their cause, the last one first, and from history too", () => {
  hear("AttemptFailed", 5, { code: "APP_CRASH" });
  tally.addPastFailures([{ at: new Date(NOW - 60_000).toISOString(), code: "TIMEOUT", device: "D2", job: "J1" }]);
  expect(tally.failuresSince(NOW - 600_000).map((failure) => failure.code)).toEqual(["APP_CRASH", "TIMEOUT"]);
});

test("quantiles of nothing are nothing", () => {
  expect(quantile([], 0.5)).toBeNull();
  expect(quantile([7], 0.95)).toBe(7);
});
