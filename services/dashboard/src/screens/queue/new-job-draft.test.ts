/** What can be told to be wrong before the server is asked. */
import { expect, test } from "vitest";
import { type Draft, EMPTY, type Fault, faultsOf, jobOf } from "./new-job-draft";

const named = (count: number) => ({ ids: Array.from({ length: count }, (_, n) => `D${n}`), unknown: [] });
const NOW = new Date(2026, 10, 16, 9).getTime();
const GOOD: Draft = { ...EMPTY, address: "https://youtu.be/abc" };

test("with an address alone it is complete, and has the usual values", () => {
  expect(faultsOf(GOOD)).toEqual(new Set());
  expect(jobOf(GOOD)).toEqual({
    title: null,
    target_url: "https://youtu.be/abc",
    script_type: "youtube_watch",
    duration_min_pct: 30,
    duration_max_pct: 90,
    prob_like: 50,
    prob_comment: 30,
    prob_playlist: 10,
    is_active: true,
    base_reward: 10,
    target: null,
    priority: 0,
    not_before: null,
  });
});

test.each<[string, Partial<Draft>, Fault]>([
  ["no address", { address: "" }, "address"],
  ["another site", { address: "https://example.com/watch?v=1" }, "address"],
  ["a site that only ends like it", { address: "https://notyoutube.com/watch?v=1" }, "address"],
  ["no http", { address: "javascript:alert(1)" }, "address"],
  ["the longest shorter than the shortest", { from: "80", to: "40" }, "duration"],
  ["less than ten percent", { from: "5" }, "duration"],
  ["no number", { to: "x" }, "duration"],
  ["a chance above all", { like: "101" }, "chances"],
  ["a number of none", { count: "0" }, "count"],
  ["half a phone", { target: "pc", pc: "PC-01", count: "1.5" }, "count"],
  ["no group", { target: "group" }, "target"],
  ["no phone", { target: "phones" }, "target"],
  ["a phone that nobody knows", { target: "phones", found: { ids: ["D1"], unknown: ["X"] } }, "target"],
  ["more phones than a job can name", { target: "phones", found: named(1_001) }, "target"],
  ["a priority beyond its bounds", { priority: "101" }, "priority"],
  ["no priority", { priority: "" }, "priority"],
  ["a start that has passed", { start: "2026-11-16T08:59" }, "start"],
  ["a start beyond 30 days", { start: "2027-11-16T09:00" }, "start"],
])("%s", (_, change, fault) => {
  expect(faultsOf({ ...GOOD, ...change }, NOW)).toEqual(new Set([fault]));
});

test.each<[Partial<Draft>, object]>([
  [{ target: "group", group: "P1-G1" }, { group_id: "P1-G1" }],
  [{ target: "pc", pc: "PC-01" }, { pc_id: "PC-01" }],
  [{ count: "50" }, { count: 50 }],
  [
    { target: "group", group: "P1-G1", count: "5" },
    { group_id: "P1-G1", count: 5 },
  ],
  [
    { target: "pc", pc: "PC-01", count: "5" },
    { pc_id: "PC-01", count: 5 },
  ],
  [{ target: "phones", found: named(2) }, { device_ids: ["D0", "D1"] }],
  [
    { target: "phones", found: named(2), count: "1" },
    { device_ids: ["D0", "D1"], count: 1 },
  ],
])("%o is for %o", (change, target) => {
  expect(jobOf({ ...GOOD, ...change }).target).toEqual(target);
});

test("it starts at the time that was written, on this machine's clock", () => {
  const draft = { ...GOOD, start: "2026-11-17T09:00" };
  expect(faultsOf(draft, NOW)).toEqual(new Set());
  expect(jobOf(draft).not_before).toBe(new Date(2026, 10, 17, 9).toISOString());
});

test("held back it is created inactive", () => {
  expect(jobOf({ ...GOOD, isHeldBack: true }).is_active).toBe(false);
});
