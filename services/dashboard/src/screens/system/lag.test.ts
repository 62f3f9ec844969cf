/** How far read models were behind, as a line. */
import { expect, test } from "vitest";
import type { PartitionState, System } from "@/lib/api/schema";
import { LOOKS_MAX, type Look, placeOf, pointsOf, withLook } from "./lag";

function status(second: number, behind: number | null, lag_s: number | null = 0): Pick<System, "at" | "partitions"> {
  const partition: PartitionState = {
    context: "fleet",
    partition: "main",
    leader: "a",
    leads_since: null,
    log_seq: 9,
    log_at: null,
    projected_seq: 9,
    projected_at: null,
    behind,
    lag_s,
    refusal: null,
    log_full: null,
  };
  return { at: new Date(second * 1000).toISOString(), partitions: [partition] };
}

test("each look is kept once, and only some of them", () => {
  let looks: readonly Look[] = [];
  for (let second = 0; second < 2 * LOOKS_MAX; second++)
    looks = withLook(withLook(looks, status(second, 0)), status(second, 0));
  expect(looks).toHaveLength(LOOKS_MAX);
});

test("the line rises with what is behind; a little is not a storm", () => {
  const looks = [0, 10, 25].reduce<readonly Look[]>((all, behind, n) => withLook(all, status(n, behind)), []);
  expect(pointsOf(looks, "fleet")).toEqual([
    [0, 1],
    [0.5, 0.8],
    [1, 0.5],
  ]);
  const much = [0, 200].reduce<readonly Look[]>((all, behind, n) => withLook(all, status(n, behind)), []);
  expect(pointsOf(much, "fleet")).toEqual([
    [0, 1],
    [1, 0],
  ]);
});

test("what nobody could tell is left out", () => {
  const looks = [3, null, 3].reduce<readonly Look[]>((all, behind, n) => withLook(all, status(n, behind)), []);
  expect(pointsOf(looks, "fleet")).toHaveLength(2);
  expect(pointsOf(looks.slice(0, 1), "fleet")).toEqual([]);
});

test("a context with one partition is called by its name alone", () => {
  expect(placeOf({ context: "fleet", partition: "main" })).toBe("fleet");
  expect(placeOf({ context: "reminder", partition: "p0" })).toBe("reminder p0");
});

test("of several partitions the worst counts, and one that nobody can tell of does not", () => {
  const { at, partitions } = status(1, 3, 2.5);
  const other = status(1, null, null).partitions;
  expect(withLook([], { at, partitions: [...partitions, ...other] })[0]?.lagS).toBe(2.5);
  expect(withLook([], { at, partitions: other })[0]?.lagS).toBeNull();
});
