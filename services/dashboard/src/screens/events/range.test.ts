/** From when to when events are shown. */
import { expect, test } from "vitest";
import { isoOf, isWithin, localOf, momentIn, spanOf } from "./range";

const NOW = Date.UTC(2026, 10, 16, 12, 0);
const FROM = "2026-11-16T10:00:00.000Z";
const TO = "2026-11-16T11:00:00.000Z";

test("the last hour ends now and goes on, and two moments are what they are", () => {
  expect(spanOf({ last: "1h" }, NOW)).toEqual({ from: NOW - 3_600_000, to: null });
  expect(spanOf({ from: FROM, to: TO, last: "1h" }, NOW)).toEqual({ from: Date.parse(FROM), to: Date.parse(TO) });
  expect(spanOf({}, NOW)).toEqual({ from: null, to: null });
});

test("the end is not in it any more, as on the server", () => {
  const span = spanOf({ from: FROM, to: TO }, NOW);
  expect([isWithin(span, FROM), isWithin(span, TO), isWithin(span, "2026-11-16T09:59:59Z")]).toEqual([
    true,
    false,
    false,
  ]);
  expect(isWithin({ from: null, to: null }, TO)).toBe(true);
});

test("what is no moment is dropped, and any way to write one is understood", () => {
  expect(momentIn({ from: "2026-11-16T11:00:00+01:00" }, "from")).toBe(FROM);
  expect(momentIn({ from: "soon" }, "from")).toBeUndefined();
});

test("a moment that is written into the field comes back as it was", () => {
  expect(isoOf(localOf(FROM))).toBe(FROM);
  expect([localOf(undefined), isoOf("")]).toEqual(["", undefined]);
});
