/** Jobs in the order of their turn, and how far they are. */
import { expect, test } from "vitest";
import { FleetStore } from "@/lib/live/fleet";
import { Frames } from "@/lib/live/frame";
import type { JobRow } from "@/lib/rest/rows";
import { ended, jobTotal } from "./job-total";
import { openJobs } from "./open-jobs";

const PLACE = { priority: 0, put_first: 0, is_scheduled: false, not_before: null };
const COUNTERS = { pending: 0, running: 0, retrying: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };

function job(id: string, change: Partial<JobRow> = {}): JobRow {
  const base = { id, status: "created", is_active: true, target: null, needs: [], ended_at: null, ...PLACE };
  return { ...base, ...COUNTERS, created_at: `2026-11-16T09:00:0${id}Z`, ...change } as JobRow;
}

function fleetOf(...groups: string[]): FleetStore {
  const fleet = new FleetStore(new Frames(() => {}));
  groups.forEach((group, n) => {
    const device = { id: `D${n}`, serial: `S${n}`, group, pc: "PC-1", capabilities: n === 0 ? ["age_verified"] : [] };
    fleet.putDevice({ ...device, errorCode: null, heldUntil: null } as never);
  });
  return fleet;
}

test("the oldest waits first; what is paused has no turn and comes last", () => {
  const jobs = [job("3"), job("1", { status: "paused" }), job("2"), job("4", { is_active: false })];
  expect(openJobs(jobs).waiting.map((one) => one.id)).toEqual(["2", "3", "1", "4"]);
});

test("a higher priority waits before an older job, and what was put first before all, the last one first", () => {
  const jobs = [
    job("1"),
    job("2", { priority: -1 }),
    job("3", { priority: 5 }),
    job("4", { priority: 5 }),
    job("5", { put_first: 70 }),
    job("6", { put_first: 71 }),
    job("7", { priority: 100, status: "paused" }),
  ];
  expect(openJobs(jobs).waiting.map((one) => one.id)).toEqual(["6", "5", "3", "4", "1", "2", "7"]);
});

test("what is scheduled comes after the queue, the soonest first, and before what is paused", () => {
  const at = (hour: string) => ({ is_scheduled: true, not_before: `2026-11-16T${hour}:00:00Z` });
  const jobs = [job("1", at("20")), job("2", at("10")), job("3", { status: "paused", ...at("09") }), job("4")];
  expect(openJobs(jobs).waiting.map((one) => one.id)).toEqual(["4", "2", "1", "3"]);
});

test("one is active, those that ended are not here", () => {
  const open = openJobs([job("1", { status: "active" }), job("2", { status: "completed" })]);
  expect(open.active?.id).toBe("1");
  expect(open.waiting).toEqual([]);
});

test.each<[string, Partial<JobRow>, number]>([
  ["all phones", {}, 4],
  ["a group", { target: { group_id: "A" } }, 2],
  ["at most so many", { target: { count: 3 } }, 3],
  ["a number that the farm does not have: the rest will be skipped", { target: { count: 9 } }, 9],
  ["by name", { target: { device_ids: ["D0"] } }, 1],
  ["all of its target, also phones that cannot take it and will be skipped", { needs: ["age_verified"] }, 4],
  ["more than there are now, if more have had it", { completed: 9 }, 9],
  ["of one that ended, what it came to", { completed: 2, ended_at: "2026-11-16T10:00:00Z" }, 2],
  ["of one that ended, also those that it missed", { completed: 2, skipped: 3, ended_at: "2026-11-16T10:00:00Z" }, 5],
])("a job is for %s", (_, change, total) => {
  expect(jobTotal(fleetOf("A", "A", "B", "C"), job("1", change))).toBe(total);
});

test("what ended is over, however it ended", () => {
  expect(ended(job("1", { completed: 5, failed: 2, cancelled: 1, running: 9 }))).toBe(8);
});
