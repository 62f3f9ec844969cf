/** How far a rebuild is, and how many rows differed. */
import { expect, test } from "vitest";
import { differencesOf, isAtWork, shareOf, toneOfStage } from "./rebuilds";

test("it is as far as its events are folded, and not further than all of them", () => {
  expect(shareOf({ folded: 25, events: 100, stage: "folding" })).toBe(0.25);
  expect(shareOf({ folded: 130, events: 100, stage: "folding" })).toBe(1);
  expect(shareOf({ folded: 0, events: null, stage: "folding" })).toBeNull();
  expect(shareOf({ folded: 0, events: 0, stage: "folding" })).toBeNull();
  expect(shareOf({ folded: 90, events: 100, stage: "comparing" })).toBe(1);
});

test("rows that differ are counted over all tables", () => {
  const table = (different: number) => ({ table: "t", rows: 10, different, examples: [] });
  expect(differencesOf({ tables: null })).toBeNull();
  expect(differencesOf({ tables: [table(0), table(0)] })).toBe(0);
  expect(differencesOf({ tables: [table(2), table(3)] })).toBe(5);
});

test("one that ended is not at work, and a stage of tomorrow is none of these", () => {
  expect(["folding", "comparing", "swapping"].every(isAtWork)).toBe(true);
  expect(["swapped", "dropped", "failed", "interrupted", "thinking"].some(isAtWork)).toBe(false);
  expect(toneOfStage("thinking")).toBe("offline");
});
