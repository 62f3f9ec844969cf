/** RM-13: reads of reminders are logged under `alarm`, without anybody's words. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Server } from "./read";
import { reminderRows } from "./reminder-reads";

const lines: unknown[][] = [];
let wish = "";

beforeEach(() => {
  lines.length = 0;
  vi.stubGlobal("localStorage", { getItem: (key: string) => (key === "debug" ? wish : null) });
  vi.spyOn(console, "debug").mockImplementation((...what) => void lines.push(what));
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function answering(answer: () => unknown): Server {
  return { json: async <T>() => answer() as T, request: () => Promise.reject(new Error("not asked for")) };
}

test("RM-13: with localStorage.debug = 'alarm' a read says how many rows it found", async () => {
  wish = "alarm";
  const server = answering(() => [{ title: "secret" }, { title: "words" }]);
  expect(await reminderRows(server, "alarm", { user_id: "eq.kim" })).toHaveLength(2);
  expect(lines).toEqual([["alarm:", "read", "alarm", 2]]);
});

test("RM-13: a read that fails says so, and fails", async () => {
  wish = "alarm";
  const fault = new Error("away");
  const server = answering(() => {
    throw fault;
  });
  await expect(reminderRows(server, "user_info", {})).rejects.toBe(fault);
  expect(lines).toEqual([["alarm:", "not read", "user_info", fault]]);
});

test("RM-13: otherwise nothing is logged", async () => {
  wish = "session";
  await reminderRows(
    answering(() => []),
    "alarms_event",
    {},
  );
  expect(lines).toEqual([]);
});
