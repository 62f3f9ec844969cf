/** Jobs that end while the list of ended ones is shown. */
import { expect, test } from "vitest";
import type { JobRow } from "@/lib/rest/rows";
import { endedList } from "./history";

const JOB = {
  status: "completed",
  title: "Launch",
  target_url: "https://example.com/v",
  ended_at: "2026-11-16T09:00:00Z",
};

test.each<[string, Partial<JobRow>, Parameters<typeof endedList>, boolean]>([
  ["all that ended", {}, [undefined, undefined], true],
  ["not those that are open", { ended_at: null }, [undefined, undefined], false],
  ["one state", {}, ["completed", undefined], true],
  ["another state", {}, ["cancelled", undefined], false],
  ["part of the title", {}, [undefined, " LAUNCH "], true],
  ["part of the address", { title: null }, [undefined, "example"], true],
  ["something else", {}, [undefined, "else"], false],
])("a job that is told is in the list as its question has it: %s", (_, change, filter, isIn) => {
  expect(endedList(...filter).isShown({ ...JOB, ...change } as JobRow)).toBe(isIn);
});
