/** Many racks that come into sight at once do not hold up the page. DF-23. */
import { expect, test } from "vitest";
import { drawnNext, NEW_RACKS_MAX } from "./layout";

const racks = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `PC-${from + n}`);

test("DF-23: of racks that come into sight some are drawn at once, and all of them in a few frames", () => {
  const wanted = racks(0, 3 * NEW_RACKS_MAX);
  let drawn: string[] = [];
  for (let frame = 1; frame <= 3; frame++) {
    drawn = drawnNext(new Set(drawn), wanted);
    expect(drawn).toHaveLength(frame * NEW_RACKS_MAX);
  }
  expect(drawn).toEqual(wanted);
});

test("racks that are there stay, in the order that is wanted", () => {
  const there = racks(10, 40);
  const wanted = [...racks(5, 10), ...there.toReversed()];
  expect(drawnNext(new Set(there), wanted)).toEqual(wanted);
});

test("those that are out of sight are gone at once", () => {
  expect(drawnNext(new Set(racks(0, 40)), racks(38, 42))).toEqual(racks(38, 42));
});
