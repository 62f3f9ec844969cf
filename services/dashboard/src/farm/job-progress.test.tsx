// @vitest-environment happy-dom
/** What people read of a job's progress adds up, and no figure is made of nothing. */
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TestPage } from "@/app/testing";
import type { JobRow } from "@/lib/rest/rows";
import { JobCounters, JobPace } from "./job-progress";

let page: TestPage;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] }); // a pace would change while a busy machine draws it
  vi.setSystemTime("2026-11-16T09:00:00Z");
  page = new TestPage();
});

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const COUNTERS = { pending: 0, running: 0, retrying: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };

function job(change: Partial<JobRow>): JobRow {
  const base = { id: "J1", title: "Launch", status: "active", is_active: true, target: { count: 120 }, needs: [] };
  return { ...base, ended_at: null, activated_at: new Date().toISOString(), ...COUNTERS, ...change } as JobRow;
}

/** As many phones as were through with these jobs in this second. */
async function end(count: number, id: string): Promise<void> {
  const row = { event_type: "SUCCEEDED", created_at: new Date().toISOString(), task_id: id, device_id: "D1" };
  await act(async () => {
    for (let n = 0; n < count; n++) page.live.tally.count(row as never);
  });
}

test("a job that has just become active has no pace, whatever its predecessor did in the same second", async () => {
  await end(20, "J0");
  await page.show("viewer", <JobPace job={job({ running: 20 })} />);
  expect(page.text).toContain("0 of 120");
  expect(page.text).toContain("measuring pace");
  expect(page.text).not.toMatch(/\/ min|left/);
});

test("a job that goes has a pace and a time that people can believe", async () => {
  await end(60, "J1");
  const activated_at = new Date(Date.now() - 60_000).toISOString();
  await page.show("viewer", <JobPace job={job({ activated_at, running: 20, completed: 10 })} />);
  expect(page.text).toMatch(/10 of 120 · 60 \/ min · about 2 min left/);
});

test("the counters that are shown add up to the number of phones that is shown", async () => {
  const ended = { status: "completed", ended_at: new Date().toISOString() } as const;
  const row = job({ ...ended, completed: 90, failed: 4, cancelled: 2, skipped: 24 });
  await page.show(
    "viewer",
    <>
      <JobPace job={row} />
      <JobCounters job={row} />
    </>,
  );
  expect(page.text).toContain("96 of 120");
  const shown = [...document.querySelectorAll("dd")].map((one) => Number(one.textContent));
  expect(shown.reduce((sum, one) => sum + one, 0)).toBe(120);
});
