// @vitest-environment happy-dom
/** Ended jobs run again where they failed: a new job each, and a report of those that could not. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { JobRow } from "@/lib/rest/rows";
import { AgainBar } from "./again-bar";

let page: TestPage;
let cleared = 0;
const failedOf = (id: string) =>
  `/rest/v1/job_assignments?select=device_id&job_id=eq.${id}&status=eq.failed&order=id&limit=1000`;

beforeEach(() => {
  page = new TestPage();
  cleared = 0;
  page.given.server.answers.set("/rest/v1/jobs", () => Response.json([{ id: "NEW" }]));
  page.given.server.answers.set(failedOf("J1"), () => Response.json([{ device_id: "D1" }]));
  page.given.server.answers.set(failedOf("J2"), () => Response.json([{ device_id: "D2" }]));
});

afterEach(() => {
  document.body.replaceChildren();
});

const job = (id: string, failed = 1) =>
  ({ id, title: `Job ${id}`, failed, priority: 5, not_before: "2026-03-02T12:00:00Z", target: null }) as JobRow;
const made = () => page.given.server.to("/rest/v1/jobs").map((call) => JSON.parse(call.body ?? ""));
const show = (...jobs: JobRow[]) => page.show("operator", <AgainBar jobs={jobs} done={() => cleared++} />);

test("each gets a new job for the phones where it failed, which may start at once", async () => {
  await show(job("J1"), job("J2"));
  await page.press("Run 2 jobs again where failed");
  await page.settle();
  expect(made()).toMatchObject([
    { title: "Job J1", priority: 5, not_before: null, is_active: true, target: { device_ids: ["D1"] } },
    { title: "Job J2", target: { device_ids: ["D2"] } },
  ]);
  expect(page.toasts.get()).toMatchObject([{ title: "2 new jobs in the queue, for the phones where they failed." }]);
  expect(cleared).toBe(1);
});

test("one that failed nowhere is named, and the others run", async () => {
  await show(job("J1"), job("J3", 0));
  await page.press("Run 2 jobs again where failed");
  await page.says("1 refusal");
  expect(page.text).toContain("Job J3It failed on no phone.");
  expect(made()).toHaveLength(1);
});

test("a refusal of the server is told in its words", async () => {
  const refusal = { code: "CONFLICT", message: "1000 jobs are open, which is the limit" };
  page.given.server.answers.set("/rest/v1/jobs", () => Response.json(refusal, { status: 409 }));
  await show(job("J1"));
  await page.press("Run 1 job again where failed");
  await page.says("1000 jobs are open");
  expect(page.text).toContain("Nothing was changed.");
});
