/** `?as_of=` names a moment of the past, or nothing. */
import { expect, test } from "vitest";
import { pastOf, pastSearch } from "./past-search";

const NOW = Date.parse("2026-11-16T12:00:00Z");

test.each([
  ["2026-11-16T09:00:00Z", "2026-11-16T09:00:00.000Z"],
  ["2026-11-16T18:00:00+09:00", "2026-11-16T09:00:00.000Z"],
  ["2026-11-16T18:00:00 09:00", "2026-11-16T09:00:00.000Z"], // a plus that was not written with care
  ["2026-11-16T09:00:00.250Z", "2026-11-16T09:00:00.250Z"],
  ["2026-11-16T09:00Z", "2026-11-16T09:00:00.000Z"],
])("%s", (text, iso) => {
  const { as_of } = pastSearch({ as_of: text });
  expect(pastOf(as_of, NOW)?.iso).toBe(iso);
});

test.each(["yesterday", "2026-11-16", "2026-11-16T09:00:00", "2026-13-16T09:00:00Z", "1794819600", ""])(
  "%s is no moment, and is dropped",
  (text) => expect(pastSearch({ as_of: text })).toEqual({}),
);

test("what has yet to come is not the past", () => {
  expect(pastOf("2026-11-16T12:00:00Z", NOW)).toBeNull();
  expect(pastOf("2030-01-01T00:00:00Z", NOW)).toBeNull();
  expect(pastOf(undefined, NOW)).toBeNull();
});
