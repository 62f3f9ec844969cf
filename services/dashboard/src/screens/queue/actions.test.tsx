// @vitest-environment happy-dom
/** Who may act sees buttons; a viewer sees none. A question outlives the row that it was asked in. */
import { act, type ReactNode } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useLive } from "@/app/context";
import { TestPage } from "@/app/testing";
import { useTable } from "@/lib/live/hooks";
import type { JobRow, JobStatus } from "@/lib/rest/rows";
import { BulkActions, isOpen, JobActions } from "./actions";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const job = (status: JobStatus, is_active = true, id = "J1") => ({ id, title: "Launch", status, is_active }) as JobRow;
const patches = () => page.given.server.calls.filter((call) => call.method === "PATCH");

/** Rows as a live table has them: they leave when their job ends. */
function OpenRows(): ReactNode {
  const { fleet } = useLive();
  useTable(fleet.jobs, 1);
  const open = [...fleet.jobs.values()].filter(isOpen);
  return (
    <>
      {open.map((one) => (
        <JobActions key={one.id} job={one} />
      ))}
      {open.length > 0 && <BulkActions jobs={open} done={() => {}} />}
    </>
  );
}

async function becomes(...jobs: JobRow[]): Promise<void> {
  await act(async () => {
    for (const one of jobs) page.live.fleet.jobs.set(one.id, one);
  });
}

test.each<[JobStatus, boolean, string[]]>([
  ["active", true, ["Pause", "Cancel"]],
  ["created", true, ["Pause", "Cancel"]],
  ["created", false, ["Resume", "Cancel"]],
  ["paused", false, ["Resume", "Cancel"]],
  ["completed", false, []],
  ["cancelled", false, []],
])("an operator, of a job that is %s (wanted: %s): %o", async (status, isActive, buttons) => {
  await page.show("operator", <JobActions job={job(status, isActive)} />);
  expect(page.buttons()).toEqual(buttons);
});

test.each<JobStatus>(["active", "created", "paused"])("a viewer, of a job that is %s: nothing", async (status) => {
  await page.show("viewer", <JobActions job={job(status)} />);
  expect(page.buttons()).toEqual([]);
});

test("cancelling is asked about, and done when it is meant", async () => {
  await page.show("admin", <JobActions job={job("active")} />);
  await page.press("Cancel");
  await page.settle();
  expect(page.text).toContain("Cancel this job?");
  expect(patches()).toEqual([]);
  await page.press("Cancel the job");
  await page.settle();
  const [call] = patches();
  expect(call).toMatchObject({ path: "/rest/v1/jobs?id=in.(J1)", body: '{"status":"cancelled"}' });
  expect(call?.headers.get("Idempotency-Key")).toBeTruthy();
});

test("SY-19: an action that fails after the token was renewed leaves a message with a button to try again", async () => {
  await page.show("operator", <JobActions job={job("active")} />);
  page.given.server.expireTokens();
  const path = "/rest/v1/jobs?id=in.(J1)";
  const press = page.press("Pause");
  page.given.server.fail(path, [401, "TOKEN_EXPIRED"], "network");
  await press;
  await page.settle();
  const [toast] = page.toasts.get();
  expect(toast).toMatchObject({ kind: "fault", action: { label: "Try again" } });
  toast?.action?.run();
  await page.settle();
  expect(page.given.server.to(path)).toHaveLength(3);
});

test("a question stays when its row leaves, and says that the job has ended", async () => {
  await becomes(job("created"));
  await page.show("operator", <OpenRows />);
  await page.press("Cancel");
  await page.settle();
  await becomes(job("completed"));
  await page.says("This job has ended in the meantime: Completed.");
  expect(page.text).toContain("Launch");
  expect(page.buttons()).toEqual(["Close", "Close"]);
  expect(document.activeElement?.textContent).toBe("Close");
  expect(patches()).toEqual([]);
});

test("of several, those that are still open are cancelled", async () => {
  await becomes(job("created"), job("created", true, "J2"), job("active", true, "J3"));
  await page.show("operator", <OpenRows />);
  await page.press("Cancel 3");
  await page.settle();
  expect(page.text).toContain("Cancel 3 jobs?");
  await becomes(job("cancelled"));
  await page.says("One has ended in the meantime.");
  await page.press("Cancel 2 jobs");
  await page.settle();
  expect(patches()).toMatchObject([{ path: "/rest/v1/jobs?id=in.(J2,J3)" }]);
});

test("when all of several have ended there is nothing to choose", async () => {
  await becomes(job("created"), job("created", true, "J2"));
  await page.show("operator", <OpenRows />);
  await page.press("Cancel 2");
  await page.settle();
  await becomes(job("cancelled"), job("expired", false, "J2"));
  await page.says("These jobs have all ended in the meantime.");
  expect(page.buttons()).toEqual(["Close", "Close"]);
});
