/** Selecting phones, like files in a list. */
import { expect, test } from "vitest";
import { BULK_MAX } from "@/lib/rest/bulk";
import { allOf, extended, howOf, NONE, still, toggled } from "./chosen";

const ORDER = ["A", "B", "C", "D", "E"];
const ids = (chosen: { ids: ReadonlySet<string> }) => [...chosen.ids].join("");

test("one by one, and back", () => {
  const two = toggled(toggled(NONE, "A"), "C");
  expect(ids(two)).toBe("AC");
  expect(ids(toggled(two, "A"))).toBe("C");
});

test("from one to another, either way, with those before", () => {
  expect(ids(extended(toggled(NONE, "B"), "D", ORDER))).toBe("BCD");
  expect(ids(extended(toggled(toggled(NONE, "E"), "C"), "A", ORDER))).toBe("ECAB");
  expect(ids(extended(NONE, "B", ORDER))).toBe("B");
});

test("a range goes on from where it began", () => {
  const first = extended(toggled(NONE, "B"), "C", ORDER);
  expect(ids(extended(first, "E", ORDER))).toBe("BCDE");
});

test("an anchor that is not shown any more begins nothing", () => {
  expect(ids(extended(toggled(NONE, "X"), "B", ORDER))).toBe("XB");
});

test("no more than one action takes", () => {
  const many = Array.from({ length: BULK_MAX + 9 }, (_, n) => `D${n}`);
  expect(allOf(many).ids.size).toBe(BULK_MAX);
  expect(toggled(allOf(many), "more").ids.has("more")).toBe(false);
});

test("who is not registered any more is not selected", () => {
  expect(ids(still(allOf(["A", "B"]), (id) => id !== "A"))).toBe("B");
  const all = allOf(["A"]);
  expect(still(all, () => true).ids).toBe(all.ids);
});

test.each([
  [{}, false, "open"],
  [{}, true, "toggle"],
  [{ ctrlKey: true }, false, "toggle"],
  [{ metaKey: true }, false, "toggle"],
  [{ shiftKey: true }, false, "range"],
])("a click with %o while selecting is %s: %s", (keys, isSelecting, how) => {
  expect(howOf({ shiftKey: false, ctrlKey: false, metaKey: false, ...keys }, isSelecting)).toBe(how);
});
