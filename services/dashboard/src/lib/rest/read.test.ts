/** Lists are read a page at a time, each page from where the one before ended. */
import { expect, test } from "vitest";
import { keysetPage } from "./read";

test("the first page has the newest rows", () => {
  expect(keysetPage("", 50)).toEqual({ order: "created_at.desc", limit: 50 });
});

test("the next page begins before the last row", () => {
  expect(keysetPage("2026-11-16T03:00:00Z", 50)).toMatchObject({ created_at: "lt.2026-11-16T03:00:00Z" });
});

test("with the oldest first, the next page begins after the last row", () => {
  const page = { created_at: "gt.2026-11-16T03:00:00Z", order: "created_at", limit: 50 };
  expect(keysetPage("2026-11-16T03:00:00Z", 50, true)).toEqual(page);
});
