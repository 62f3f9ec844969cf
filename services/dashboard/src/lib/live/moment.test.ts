/** Moments keep their microseconds, however they are written. */
import { expect, test } from "vitest";
import { micros } from "./moment";

test.each([
  ["2026-11-16T09:00:00.123456Z", "2026-11-16T09:00:00.123457Z"],
  ["2026-11-16T09:00:00.7991+00:00", "2026-11-16T09:00:00.79913Z"],
  ["2026-11-16T09:00:00Z", "2026-11-16T09:00:00.000001Z"],
  ["2026-11-16T17:59:59.999999+09:00", "2026-11-16T09:00:00Z"],
])("%s is before %s", (before, after) => {
  expect(micros(before)).toBeLessThan(micros(after));
});

test("the same moment in two ways is the same", () => {
  expect(micros("2026-11-16T18:00:00.5+09:00")).toBe(micros("2026-11-16T09:00:00.500000Z"));
});
