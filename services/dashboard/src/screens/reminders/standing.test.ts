/** Where an alarm stands, what happens to it next, and what each list asks for. */
import { expect, test } from "vitest";
import type { AlarmEventRow } from "@/lib/rest/reminder-rows";
import { remindersSearch } from "./search";
import { alarmsFilter, historyFilter, historyList, keyOf, nextAt, partsOf, standingOf } from "./standing";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const [EARLIER, LATER, MUCH_LATER] = ["2026-11-16T11:00:00Z", "2026-11-16T13:00:00Z", "2026-11-16T18:00:00Z"];
const ALARM = { next_alarm_time: LATER, processed_at: null, retry_at: null, recover_at: null };

test.each([
  ["its time has not come", {}, "waiting", LATER],
  ["its time has come", { next_alarm_time: EARLIER }, "due", EARLIER],
  [
    "somebody sends it",
    { next_alarm_time: EARLIER, processed_at: EARLIER, recover_at: MUCH_LATER },
    "sending",
    MUCH_LATER,
  ],
  ["it failed and is tried again", { next_alarm_time: EARLIER, retry_at: LATER }, "retrying", LATER],
] as const)("%s", (_, change, standing, next) => {
  const alarm = { ...ALARM, ...change };
  expect([standingOf(alarm, NOW), nextAt(alarm)]).toEqual([standing, next]);
});

test("what went wrong is more than what failed", () => {
  expect(historyFilter("failed", "")).toEqual({ event_type: "in.(FAILED,UNKNOWN,SKIPPED,CROWDED)" });
  expect(historyFilter("sent", "hana")).toEqual({
    event_type: "eq.SENT",
    or: "(user_id.ilike.*hana*,page_id.ilike.*hana*,error_code.ilike.*hana*)",
  });
  expect(alarmsFilter(" ")).toEqual({});
  expect(alarmsFilter("hana")).toEqual({ or: "(user_id.ilike.*hana*,title.ilike.*hana*,page_id.ilike.*hana*)" });
});

test("an alarm's key has both of its parts, whatever is in them", () => {
  const of = { page_id: 'p|"1"', user_id: "auth0|x,y" };
  expect(partsOf(keyOf(of))).toEqual({ page: of.page_id, user: of.user_id });
});

test("the address holds what is shown", () => {
  expect(remindersSearch({ show: "sent", page: "p", user: "u" })).toEqual({ show: "sent", page: "p", user: "u" });
  expect(remindersSearch({ show: "never" })).toEqual({});
});

test.each([
  ["sent", "", "SENT", true],
  ["sent", "", "FAILED", false],
  ["failed", "", "SKIPPED", true],
  ["failed", "KIM", "FAILED", true],
  ["failed", "lee", "FAILED", false],
] as const)(
  "a line that is told is in the list %s with “%s” as its question has it",
  (show, text, event_type, isIn) => {
    const line = { id: 1, event_type, user_id: "user_kim", page_id: "p1", error_code: null } as AlarmEventRow;
    expect(historyList(show, text).isShown(line)).toBe(isIn);
  },
);
