/** What can be told to be wrong before the server is asked. */
import { expect, test } from "vitest";
import { type Draft, EMPTY, type Fault, faultsOf, jobOf } from "./new-job-draft";

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
  ["a number of none", { target: "count", count: "0" }, "target"],
  ["half a phone", { target: "count", count: "1.5" }, "target"],
])("%s", (_, change, fault) => {
  expect(faultsOf({ ...GOOD, ...change })).toEqual(new Set([fault]));
});

test.each<[Partial<Draft>, object]>([
  [{ target: "group", group: "P1-G1" }, { group_id: "P1-G1" }],
  [{ target: "pc", pc: "PC-01" }, { pc_id: "PC-01" }],
  [{ target: "count", count: "50" }, { count: 50 }],
])("%o is for %o", (change, target) => {
  expect(jobOf({ ...GOOD, ...change }).target).toEqual(target);
});

test("held back it is created inactive", () => {
  expect(jobOf({ ...GOOD, isHeldBack: true }).is_active).toBe(false);
});
