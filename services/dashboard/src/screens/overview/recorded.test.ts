/** What the server has recorded, on charts. */
import { expect, test } from "vitest";
import type { FarmSeries } from "@/lib/api/schema";
import type { Series as Counted } from "@/lib/live/tally";
import { completed, gapsOf, joined, meanWaits, ratesOf, stacked, sumFrom, timesOf } from "./recorded";

const START = Date.UTC(2026, 10, 16, 12, 0) / 1000;

function series(
  step_s: number,
  minutes: number[],
  succeeded: (number | null)[],
  wait_s: (number | null)[],
): FarmSeries {
  const none = minutes.map((n) => (n === 0 ? null : 0));
  return {
    start: new Date(START * 1000).toISOString(),
    step_s,
    minutes,
    attempts: { started: none, succeeded, failed: none, rolled_back: none, wait_s, run_s: none },
    phones: { online: none, busy: none, offline: none, error: none },
    lag_s: minutes.map((n) => (n === 0 ? null : 0.5)),
    restarts: [],
  };
}

function counted(times: number[], done: number[]): Counted {
  const zeros = times.map(() => 0);
  const nulls = times.map(() => null);
  return { times, completed: done, failed: zeros, lost: zeros, waitP50: nulls, waitP95: nulls, delay: nulls };
}

test("a rate is over the minutes that were recorded, and a step without any has none", () => {
  const farm = series(300, [5, 2, 0], [50, 20, null], [null, null, null]);
  expect(ratesOf(farm).completed).toEqual([10, 10, null]);
  expect(timesOf(farm)).toEqual([START, START + 300, START + 600]);
  expect(gapsOf(farm)).toEqual([{ from: START + 600, to: START + 900 }]);
});

test("what this page has not heard is summed up as the server recorded it, from the wanted moment on", () => {
  const times = [0, 30, 60, 90, 120, 150].map((second) => START + second);
  // The page heard a tenth of the second minute. The server has not recorded the third minute yet.
  const heard = counted(times, [0, 0, 30, 30, 10, 5]);
  const farm = series(60, [1, 1, 0], [500, 600, null], [null, null, null]);
  expect(sumFrom(START + 60, heard, 30, farm).completed).toBeCloseTo(600 + 15, 5);
  expect(sumFrom(START, heard, 30, farm).completed).toBeCloseTo(500 + 600 + 15, 5);
  expect(sumFrom(START + 60, heard, 30, undefined).completed).toBeCloseTo(75, 5);
});

test("each short step has the mean of its minute, and one without starts has none", () => {
  const farm = series(60, [1, 1], [0, 0], [1.5, null]);
  expect(meanWaits([START - 1, START, START + 59, START + 60], farm)).toEqual([null, 1500, 1500, null]);
  expect(meanWaits([START], undefined)).toEqual([null]);
});

test("a minute of which the page heard all has short steps, and one that it has not heard has the server's rate", () => {
  const farm = series(60, [1, 1], [8, 4], [null, null]);
  const steps = [START, START + 30, START + 60, START + 90, START + 120];
  expect(completed(counted(steps, [0, 1, 1, 3, 2]), 30, farm).completed).toEqual([8, 8, 2, 6, 4]);
  expect(completed(counted(steps, [0, 1, 1, 3, 2]), 30, undefined).completed).toEqual([0, 2, 2, 6, 4]);
});

test("a minute that nobody recorded is a gap, unless the page heard something in it", () => {
  const farm = series(60, [0, 0], [null, null], [null, null]);
  expect(completed(counted([START, START + 60], [0, 2]), 60, farm).completed).toEqual([null, 2]);
});

test("columns stand on each other, and a gap is no column", () => {
  expect(stacked({ completed: [3, null], failed: [2, null], lost: [1, null] })).toEqual([
    [6, null],
    [3, null],
    [1, null],
  ]);
});

test("the line of the lag is the server's until the page has looked itself", () => {
  const farm = series(60, [1, 0, 1], [0, null, 0], [null, null, null]);
  const looks = [{ at: (START + 120) * 1000, lagS: 2 }];
  expect(joined(farm, looks)).toEqual({ times: [START, START + 60, START + 120], values: [0.5, null, 2] });
  expect(joined(farm, []).values).toEqual([0.5, null, 0.5]);
});
