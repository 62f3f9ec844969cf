// @vitest-environment happy-dom
/** Whoever runs the farm may clean up now; a viewer sees no button for it. */
import { act, useState } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { RunNow } from "./run-now";

let page: TestPage;
let opened: string[];
const PATH = "/api/saju/cleanup-runs";

beforeEach(() => {
  page = new TestPage();
  opened = [];
  const done = { run_id: "run-1", cleaned_count: 3, skipped_count: 0, users_count: 2 };
  page.given.server.answers.set(PATH, () => Response.json(done, { status: 201 }));
});

afterEach(() => {
  document.body.replaceChildren();
});

function Asked() {
  const [isAsking, ask] = useState(false);
  return <RunNow isAsking={isAsking} ask={ask} openRun={(id) => opened.push(id)} />;
}
const button = <Asked />;

test("it is asked about, done, told, and what it found is opened", async () => {
  await page.show("operator", button);
  await page.press("Clean up now");
  await page.settle();
  expect(page.given.server.to(PATH)).toEqual([]);
  await page.press("Cancel");
  await page.settle();
  await page.press("Clean up now");
  await page.settle();
  const [, confirm] = [...document.querySelectorAll("button")].filter((one) => one.textContent === "Clean up now");
  await act(async () => confirm?.click());
  await page.settle();
  expect(page.given.server.to(PATH)).toMatchObject([{ method: "POST" }]);
  expect(page.toasts.get()[0]?.title).toBe("3 tests of 2 users refunded.");
  expect(opened).toEqual(["run-1"]);
});

test("a viewer sees no button", async () => {
  await page.show("viewer", button);
  expect(page.buttons()).toEqual([]);
});
