/** Rows that can be watched: told once a frame, and only who watches what changed. */
import { expect, test, vi } from "vitest";
import { Frames } from "./frame";
import { Table } from "./table";

interface Row {
  readonly pc: string;
  readonly n: number;
}

function given() {
  let flush = () => {};
  const frames = new Frames((run) => {
    flush = run;
  });
  return { table: new Table<Row>(frames, (row) => row.pc), frame: () => flush() };
}

test("five hundred changes in one frame are told once", () => {
  const { table, frame } = given();
  const heard = vi.fn();
  table.watchAll(heard);
  for (let n = 0; n < 500; n++) table.set("D1", { pc: "PC-1", n });
  expect(heard).not.toHaveBeenCalled();
  frame();
  expect(heard).toHaveBeenCalledTimes(1);
  expect(table.get("D1")?.n).toBe(499); // what is read is never late
});

test("only who watches a row or what it belongs to is told", () => {
  const { table, frame } = given();
  const [row, other, rack, otherRack] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
  table.watchRow("D1", row);
  table.watchRow("D2", other);
  table.watchTopic("PC-1", rack);
  table.watchTopic("PC-2", otherRack);
  table.set("D1", { pc: "PC-1", n: 1 });
  frame();
  expect([row, other, rack, otherRack].map((one) => one.mock.calls.length)).toEqual([1, 0, 1, 0]);
});

test("a row that moves is told to where it was and to where it is", () => {
  const { table, frame } = given();
  table.set("D1", { pc: "PC-1", n: 1 });
  frame();
  const [from, to] = [vi.fn(), vi.fn()];
  table.watchTopic("PC-1", from);
  table.watchTopic("PC-2", to);
  table.set("D1", { pc: "PC-2", n: 1 });
  frame();
  expect([from.mock.calls.length, to.mock.calls.length]).toEqual([1, 1]);
});

test("the same row again is no change", () => {
  const { table, frame } = given();
  const row = { pc: "PC-1", n: 1 };
  table.set("D1", row);
  frame();
  const before = table.version();
  table.set("D1", row);
  expect(table.version()).toBe(before);
});

test("versions grow before anybody listens, so that nothing is missed in between", () => {
  const { table } = given();
  const before = table.topicVersion("PC-1");
  table.set("D1", { pc: "PC-1", n: 1 });
  expect(table.topicVersion("PC-1")).toBeGreaterThan(before);
});

test("who stops listening is not told", () => {
  const { table, frame } = given();
  const heard = vi.fn();
  table.watchRow("D1", heard)();
  table.set("D1", { pc: "PC-1", n: 1 });
  frame();
  expect(heard).not.toHaveBeenCalled();
});
