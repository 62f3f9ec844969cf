// @vitest-environment happy-dom
/** Who may act sees buttons; a viewer sees none. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { JobRow, JobStatus } from "@/lib/rest/rows";
import { JobActions } from "./actions";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const job = (status: JobStatus, is_active = true) => ({ id: "J1", title: "Launch", status, is_active }) as JobRow;

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
  expect(page.given.server.calls.filter((call) => call.method === "PATCH")).toEqual([]);
  await page.press("Cancel the job");
  await page.settle();
  const [call] = page.given.server.calls.filter((one) => one.method === "PATCH");
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
