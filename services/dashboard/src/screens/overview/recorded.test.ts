/** Minutes of the tables on the finer steps of a chart. */
import { expect, test } from "vitest";
import type { Series } from "@/lib/api/schema";
import { meanWaits } from "./recorded";

const MINUTE = Date.UTC(2026, 10, 16, 12, 0) / 1000;
const recorded = {
  minutes: [new Date(MINUTE * 1000).toISOString(), new Date((MINUTE + 60) * 1000).toISOString()],
  attempts: { wait_s: [1.5, null] },
} as unknown as Series;

test("each step has the mean of its minute, and one without starts has none", () => {
  expect(meanWaits([MINUTE - 1, MINUTE, MINUTE + 59, MINUTE + 60], recorded)).toEqual([null, 1500, 1500, null]);
});

test("before the tables were asked there is nothing", () => {
  expect(meanWaits([MINUTE], undefined)).toEqual([null]);
});
