/** Where moments lie on the slider, and which moment a place on it is. */
import { expect, test } from "vitest";
import type { AlertRow } from "@/lib/rest/rows";
import {
  fromLocalText,
  localText,
  marksOf,
  momentAt,
  pastMoment,
  RANGES,
  rangeFor,
  scaleOf,
  shareOf,
  snap,
  ticksOf,
} from "./scale";

const NOW = Date.parse("2026-11-16T12:34:56.789Z");
const ago = (ms: number) => NOW - ms;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each(RANGES)("the scale of a %s ends now, in whole steps", (range) => {
  const scale = scaleOf(range, NOW);
  expect(scale.to).toBeGreaterThanOrEqual(NOW);
  expect(scale.to - NOW).toBeLessThan(scale.stepMs);
  expect(scale.to % scale.stepMs).toBe(0);
  expect(scale.to - scale.from).toBe(scale.spanMs);
  expect(scale.spanMs % scale.stepMs).toBe(0);
});

test.each(RANGES)("on a %s there and back is the same moment", (range) => {
  const scale = scaleOf(range, NOW);
  for (const share of [0, 0.001, 0.25, 0.5, 0.9999, 1]) {
    const at = momentAt(scale, share);
    expect(momentAt(scale, shareOf(scale, at))).toBe(at);
    expect(Math.abs(shareOf(scale, at) - share)).toBeLessThanOrEqual(scale.stepMs / scale.spanMs);
  }
});

test("the same place a little later is the same moment: answers are kept by it", () => {
  const [one, two] = [scaleOf("hour", NOW), scaleOf("hour", NOW + 40_000)];
  expect(snap(one, ago(20 * MINUTE))).toBe(snap(two, ago(20 * MINUTE)));
  expect(snap(one, ago(20 * MINUTE)) % 5_000).toBe(0);
});

test("nothing lies beyond the ends", () => {
  const scale = scaleOf("hour", NOW);
  expect([snap(scale, 0), snap(scale, NOW + HOUR)]).toEqual([scale.from, scale.to]);
  expect([shareOf(scale, 0), shareOf(scale, NOW + HOUR)]).toEqual([0, 1]);
});

test("the right end is now, not a moment of the past", () => {
  const scale = scaleOf("hour", NOW);
  expect(pastMoment(scale.to, NOW)).toBeNull();
  expect(pastMoment(scale.to - scale.stepMs, NOW)).toBe("2026-11-16T12:34:55.000Z");
});

test.each([
  [10 * MINUTE, "hour"],
  [3 * HOUR, "quarter"],
  [20 * HOUR, "day"],
  [50 * HOUR, "week"],
  [1000 * HOUR, "week"],
])("a moment %d ms ago is on the scale of a %s", (ms, range) => expect(rangeFor(ago(ms), NOW)).toBe(range));

test("ticks are whole hours of the person's own clock", () => {
  const scale = scaleOf("quarter", NOW);
  const texts = (offset: number) => ticksOf(scale, offset).map((at) => new Date(at).toISOString().slice(11, 16));
  expect(texts(0)).toEqual(["07:00", "08:00", "09:00", "10:00", "11:00", "12:00"]);
  expect(texts(330)).toEqual(["07:30", "08:30", "09:30", "10:30", "11:30", "12:30"]); // Kolkata
});

test("ticks of a week are midnights there", () => {
  const ticks = ticksOf(scaleOf("week", NOW), 540); // Seoul
  expect(ticks).toHaveLength(7);
  expect(ticks.every((at) => new Date(at).toISOString().slice(11, 16) === "15:00")).toBe(true);
});

const alert = (id: string, ms: number) =>
  ({ id, kind: "nas_away", raised_at: new Date(ago(ms)).toISOString() }) as AlertRow;

test("alerts are marks, oldest first; those of another time are none", () => {
  const marks = marksOf(scaleOf("hour", NOW), [
    alert("b", 10 * MINUTE),
    alert("a", 40 * MINUTE),
    alert("old", 3 * HOUR),
  ]);
  expect(marks.map((mark) => mark.alerts.map((one) => one.id))).toEqual([["a"], ["b"]]);
  expect(marks[0]?.at).toBe(ago(40 * MINUTE));
});

test("alerts that lie too close to be told apart are one mark, at the first of them", () => {
  const close = [alert("c", 10 * MINUTE - 9_000), alert("a", 10 * MINUTE), alert("b", 10 * MINUTE - 5_000)];
  const marks = marksOf(scaleOf("hour", NOW), close);
  expect(marks.map((mark) => mark.alerts.map((one) => one.id))).toEqual([["a", "b", "c"]]);
  expect(marksOf(scaleOf("hour", NOW), close, 0.0001)).toHaveLength(3);
});

test("a written moment is on the person's own clock, to the second", () => {
  const at = Math.floor(NOW / 1000) * 1000;
  expect(fromLocalText(localText(at))).toBe(at);
  expect([fromLocalText(""), fromLocalText("soon")]).toEqual([null, null]);
});
