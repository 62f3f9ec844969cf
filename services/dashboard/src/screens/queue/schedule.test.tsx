// @vitest-environment happy-dom
/** A job that waits can be scheduled and started now; a viewer only reads when it starts. */
import { act } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { JobRow } from "@/lib/rest/rows";
import { Schedule, StartNow } from "./schedule";
import { AHEAD_MAX_MS, startAt, startFault, startText } from "./start-time";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const HOUR = 3_600_000;
const job = (change: Partial<JobRow> = {}) =>
  ({
    id: "J1",
    title: "Launch",
    status: "created",
    is_active: true,
    is_scheduled: false,
    not_before: null,
    ...change,
  }) as JobRow;
const later = () => ({ is_scheduled: true, not_before: new Date(Date.now() + HOUR).toISOString() });
const sent = () => page.given.server.to("/rest/v1/jobs?id=in.(J1)").map((call) => JSON.parse(call.body ?? ""));

async function write(text: string): Promise<void> {
  const input = document.querySelector("input");
  if (input === null) throw new Error("There is no field");
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, text);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

test("a waiting job is scheduled for a time on this machine's clock", async () => {
  await page.show("operator", <Schedule job={job()} />);
  const text = startText(Date.now() + 2 * HOUR);
  await write(text);
  await page.press("Schedule");
  await page.settle();
  expect(sent()).toEqual([{ not_before: new Date(text).toISOString() }]);
});

test("a time that has passed is not sent", async () => {
  await page.show("operator", <Schedule job={job()} />);
  await write(startText(Date.now() - HOUR));
  expect(page.text).toContain("This time has passed.");
  expect(document.querySelector<HTMLButtonElement>("button")?.disabled).toBe(true);
});

test("a scheduled job is started now", async () => {
  await page.show("operator", <StartNow job={job(later())} />);
  await page.press("Start now");
  await page.settle();
  expect(sent()).toEqual([{ not_before: null }]);
  expect(page.toasts.get()).toMatchObject([{ title: "“Launch” is in the queue." }]);
});

test("a job that is not scheduled has nothing to start", async () => {
  await page.show("operator", <StartNow job={job()} />);
  expect(page.buttons()).toEqual([]);
});

test("a viewer reads when it starts", async () => {
  await page.show(
    "viewer",
    <>
      <StartNow job={job(later())} />
      <Schedule job={job(later())} />
    </>,
  );
  expect(page.buttons()).toEqual([]);
  expect(page.text).toMatch(/\d{2}:\d{2}/);
});

test.each<[string, number, string | null]>([
  ["now", 0, "passed"],
  ["in an hour", HOUR, null],
  ["in 30 days", AHEAD_MAX_MS, null],
  ["in more than 30 days", AHEAD_MAX_MS + HOUR, "tooFar"],
])("a start %s: %s ms ahead is %s", (_, ahead, fault) => {
  const now = new Date(2026, 10, 16, 9).getTime();
  expect(startFault(startText(now + ahead), now)).toBe(fault);
});

test("no time is no start", () => {
  expect(startFault("", 0)).toBe("noTime");
  expect(startAt("")).toBeNull();
});
