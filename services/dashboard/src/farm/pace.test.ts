/** How fast a job goes: from enough phones over enough time, or not at all. */
import { beforeEach, expect, test } from "vitest";
import { en } from "@/lib/i18n/en";
import { ko } from "@/lib/i18n/ko";
import { Tally } from "@/lib/live/tally";
import { etaText, paceOf } from "./pace";

const NOW = Date.parse("2026-11-16T09:30:00.500Z");
let tally: Tally;

beforeEach(() => {
  tally = new Tally();
});

function ends(count: number, secondsAgo: number, job = "J1"): void {
  const created_at = new Date(NOW - secondsAgo * 1000).toISOString();
  const row = { id: 1, event_type: "SUCCEEDED", error_code: null, device_id: "D1", task_id: job, created_at } as const;
  for (let n = 0; n < count; n++) tally.count(row);
}

const pace = (activeForS: number) => paceOf(tally, "J1", new Date(NOW - activeForS * 1000).toISOString(), NOW);

test("a job that became active this very moment has none, although its predecessor ended in the same second", () => {
  ends(20, 0, "J0");
  expect(pace(0)).toBeNull();
  expect(pace(0.001)).toBeNull();
  expect(pace(-1)).toBeNull(); // the clock of this page is behind
});

test("a few ends in the first seconds say nothing yet", () => {
  ends(20, 1);
  expect(pace(3)).toBeNull();
});

test("one end in a long time says nothing yet", () => {
  ends(1, 30);
  expect(pace(60)).toBeNull();
});

test("what ends for other jobs is not its own", () => {
  ends(50, 30, "J0");
  ends(4, 30);
  expect(pace(60)).toBeNull();
});

test("it is measured over the last two minutes, or since the job became active", () => {
  ends(60, 30);
  ends(600, 300);
  expect(pace(60)).toBeCloseTo(60, 0);
  expect(pace(3_600)).toBeCloseTo(30, 0);
});

test("where ends are rare it is measured over a longer time", () => {
  ends(1, 100);
  ends(4, 250);
  expect(pace(3_600)).toBeCloseTo(1, 1);
});

test("a job that has slowed down is not measured by what it did before", () => {
  ends(4_000, 200);
  ends(2, 60);
  expect(pace(3_600)).toBeNull();
});

test.each([
  [1, "less than a minute left", "1분 이내 남음"],
  [59_000, "less than a minute left", "1분 이내 남음"],
  [61_000, "about 1 min left", "약 1분 남음"],
  [110_000, "about 2 min left", "약 2분 남음"],
  [3_600_000, "about 1 h left", "약 1시간 남음"],
  [5_425_000, "about 1 h 30 min left", "약 1시간 30분 남음"],
])("%d ms are %s", (ms, english, korean) => {
  expect(etaText(en, ms)).toBe(english);
  expect(etaText(ko, ms)).toBe(korean);
});
