// @vitest-environment happy-dom
/** A job that has ended can be run once more, everywhere or where it failed; a viewer cannot. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { AssignmentRow, JobRow } from "@/lib/rest/rows";
import { RetryAssignment, RunAgain } from "./run-again";

let page: TestPage;
let created: string[];
const FAILED = "/rest/v1/job_assignments?select=device_id&job_id=eq.J1&status=eq.failed&order=id&limit=1000";

beforeEach(() => {
  page = new TestPage();
  created = [];
  page.given.server.answers.set("/rest/v1/jobs", () => Response.json([{ id: "J2", title: "Launch" }]));
  page.given.server.answers.set(FAILED, () => Response.json([{ device_id: "D1" }, { device_id: "D2" }]));
});

afterEach(() => {
  document.body.replaceChildren();
});

const job = (failed: number) =>
  ({
    id: "J1",
    title: "Launch",
    target_url: "https://youtu.be/x",
    script_type: "youtube_watch",
    status: "completed",
    failed,
    duration_min_pct: 30,
    duration_max_pct: 90,
    prob_like: 50,
    prob_comment: 30,
    prob_playlist: 10,
    base_reward: 10,
    is_active: false,
    target: { pc_id: "PC-01" },
  }) as unknown as JobRow;
const again = (failed: number) => <RunAgain job={job(failed)} created={(id) => created.push(id)} />;
const made = () => page.given.server.to("/rest/v1/jobs").map((call) => JSON.parse(call.body ?? ""));

test("everywhere it was for, and with what it was told", async () => {
  await page.show("operator", again(0));
  expect(page.buttons()).toEqual(["Run again"]);
  await page.press("Run again");
  await page.settle();
  expect(made()).toMatchObject([{ title: "Launch", prob_like: 50, is_active: true, target: { pc_id: "PC-01" } }]);
  expect(created).toEqual(["J2"]);
});

test("where it failed, and nowhere else", async () => {
  await page.show("operator", again(2));
  await page.press("Run again on 2 failed phones");
  await page.settle();
  expect(made()).toMatchObject([{ target: { device_ids: ["D1", "D2"] } }]);
});

test("a viewer sees no button", async () => {
  await page.show("viewer", again(2));
  expect(page.buttons()).toEqual([]);
});

test("one phone gets its next attempt", async () => {
  const path = "/rest/v1/job_assignments";
  await page.show("operator", <RetryAssignment assignment={{ job_id: "J1", device_id: "D1" } as AssignmentRow} />);
  await page.press("Retry on this phone");
  await page.settle();
  expect(page.given.server.to(path)).toMatchObject([{ method: "POST", body: '{"job_id":"J1","device_id":"D1"}' }]);
});
