/** What charts say about gaps, points and keys. */
import { expect, test } from "vitest";
import { gapsIn, lonely, marksIn, nearest, pointAfter } from "./chart-points";

test("steps without a record that follow each other are one gap", () => {
  expect(gapsIn(100, 10, [true, false, false, true, false])).toEqual([
    { from: 110, to: 130 },
    { from: 140, to: 150 },
  ]);
  expect(gapsIn(100, 10, [true, true])).toEqual([]);
});

test("arrow keys go point by point, page keys further, and none beyond the ends", () => {
  expect(pointAfter("ArrowRight", 3, 60)).toBe(4);
  expect(pointAfter("ArrowLeft", 0, 60)).toBe(0);
  expect(pointAfter("PageUp", 3, 60)).toBe(9);
  expect(pointAfter("PageDown", 3, 60)).toBe(0);
  expect(pointAfter("End", 3, 60)).toBe(59);
  expect(pointAfter("Home", 3, 60)).toBe(0);
  expect(pointAfter("j", 3, 60)).toBeNull();
});

test("the point that was chosen is found again by its time after the chart has moved on", () => {
  expect(nearest([10, 20, 30], 20)).toBe(1);
  expect(nearest([20, 30, 40], 10)).toBe(0);
  expect(nearest([20, 30, 40], 99)).toBe(2);
});

test("a mark belongs to the step in which it happened", () => {
  const marks = [
    { at: 19, text: "a" },
    { at: 20, text: "b" },
  ];
  expect(marksIn(marks, 10, 10).map((mark) => mark.text)).toEqual(["a"]);
});

test("a point between two gaps is lonely, and is drawn as a dot", () => {
  expect(lonely([1, null, 2, null, 3, 4])).toEqual([0, 2]);
});
