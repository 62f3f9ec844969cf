/** Moments on the clocks of users, wherever they are. */
import { expect, test } from "vitest";
import { inZone, offsetText } from "./zone";

test.each([
  ["Asia/Seoul", "17 Nov, 09:00", "Asia/Seoul, UTC+9"],
  ["America/New_York", "16 Nov, 19:00", "America/New_York, UTC−5"],
  ["Asia/Kolkata", "17 Nov, 05:30", "Asia/Kolkata, UTC+5:30"],
  ["UTC", "17 Nov, 00:00", "UTC, UTC"],
])("midnight UTC in %s", (zone, text, named) => {
  const told = inZone("en-GB", "2026-11-17T00:00:00Z", zone);
  expect(told.text.replace(/^\w+,? /, "")).toBe(text);
  expect([told.zone, told.isKnown]).toEqual([named, true]);
});

test("summer time is that of the moment, not of today", () => {
  expect(offsetText(new Date("2026-07-01T00:00:00Z"), "Europe/Berlin")).toBe("UTC+2");
  expect(offsetText(new Date("2026-12-01T00:00:00Z"), "Europe/Berlin")).toBe("UTC+1");
  expect(offsetText(new Date("2026-12-01T00:00:00.900Z"), "America/St_Johns")).toBe("UTC−3:30");
});

test("what is no zone is told in UTC, and marked", () => {
  const told = inZone("en-GB", "2026-11-17T00:00:00Z", "Moon/Tranquility");
  expect(told.text).toContain("00:00");
  expect([told.zone, told.isKnown]).toEqual(["Moon/Tranquility?", false]);
});
