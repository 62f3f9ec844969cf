/** Pages that were read, with the rows that were told since laid over them. */
import { beforeEach, expect, test } from "vitest";
import { Frames } from "./frame";
import { type ListOf, newestFirst, Overlay, overlaid, TOLD_MAX } from "./overlay";

interface Job {
  readonly id: string;
  readonly status: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const at = (second: number) => `2026-11-16T09:00:${String(second).padStart(2, "0")}Z`;
const job = (second: number, status = "completed", changed = second): Job => ({
  id: `J${second}`,
  status,
  created_at: at(second),
  updated_at: at(changed),
});

const ENDED: ListOf<Job> = {
  keyOf: (row) => row.id,
  rowOf: (told) => told as unknown as Job,
  changedAt: (row) => row.updated_at,
  isShown: (row) => row.status !== "active",
  compare: newestFirst((row) => row.created_at),
};

let overlay: Overlay;
const told = (...rows: Job[]) => overlay.add({ rows: rows as unknown as Record<string, unknown>[], gone: [] });
const ids = (read: readonly Job[], isAll = false) => overlaid(read, overlay, ENDED, isAll).map((row) => row.id);

beforeEach(() => {
  overlay = new Overlay(new Frames(() => {}));
});

test("as long as nothing was told the pages are shown as they were read", () => {
  const read = [job(9), job(5)];
  expect(overlaid(read, overlay, ENDED, false)).toBe(read);
});

test("a row that was told stands where it belongs, at the top or between others", () => {
  told(job(7), job(11), job(8, "active"));
  expect(ids([job(9), job(5)])).toEqual(["J11", "J9", "J7", "J5"]);
});

test("one that belongs after the last page comes with its page, or at once where there are no more", () => {
  told(job(3));
  expect(ids([job(9), job(5)])).toEqual(["J9", "J5"]);
  expect(ids([job(9), job(5)], true)).toEqual(["J9", "J5", "J3"]);
  expect(ids([])).toEqual(["J3"]);
});

test("the newer of two is shown, whether it was read or told", () => {
  told(job(5, "failed", 20));
  const status = (read: Job) => overlaid([read], overlay, ENDED, true)[0]?.status;
  expect(status(job(5, "completed", 10))).toBe("failed");
  expect(status(job(5, "cancelled", 30))).toBe("cancelled");
});

test("what is no more, or belongs here no more, is left out", () => {
  told(job(9, "active", 30));
  overlay.add({ rows: [], gone: [["J5"]] });
  expect(ids([job(9), job(5), job(4)])).toEqual(["J4"]);
});

test("a row that cannot be made of what was told is left to the next read", () => {
  const list = {
    ...ENDED,
    rowOf: (_: unknown, read: Job | undefined) => (read === undefined ? null : job(5, "new", 40)),
  };
  told(job(5, "failed", 20), job(11));
  expect(overlaid([job(5)], overlay, list, true).map((row) => row.status)).toEqual(["new"]);
});

test("it is bounded: when too much was told, and when the stream lost something, the pages are read again", () => {
  told(job(1));
  overlay.reset();
  expect([overlay.resets.get(), overlay.told.size]).toEqual([1, 0]);
  for (let n = 0; n <= TOLD_MAX; n++) told({ ...job(1), id: `many-${n}` });
  expect(overlay.resets.get()).toBe(2);
  expect(overlay.told.size).toBeLessThanOrEqual(TOLD_MAX);
});

test("rows that are told and do not belong here leave the list as it is", () => {
  const read = [job(9), job(5)];
  told(job(12, "active"), job(3));
  expect(overlaid(read, overlay, ENDED, false)).toBe(read);
});
