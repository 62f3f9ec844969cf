// @vitest-environment happy-dom
/** A waiting job can be put first and given a priority; a viewer can do neither. */
import { act } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { JobRow, JobStatus } from "@/lib/rest/rows";
import { PlaceMark, Priority, RunNext } from "./order";
import { isPriority } from "./priority";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const job = (change: Partial<JobRow> = {}) =>
  ({ id: "J1", title: "Launch", status: "created", is_active: true, priority: 0, put_first: 0, ...change }) as JobRow;
const sent = () => page.given.server.to("/rest/v1/jobs?id=in.(J1)").map((call) => [call.method, call.body]);

async function write(text: string): Promise<void> {
  const input = document.querySelector("input");
  if (input === null) throw new Error("There is no field");
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, text);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

test("a waiting job is put first", async () => {
  await page.show("operator", <RunNext job={job()} />);
  await page.press("Run next");
  await page.settle();
  expect(sent()).toEqual([["PATCH", '{"run_next":true}']]);
  expect(page.toasts.get()).toMatchObject([{ kind: "done", title: "“Launch” runs next." }]);
});

test.each<[JobStatus, boolean]>([
  ["active", true],
  ["paused", false],
  ["created", false],
  ["completed", false],
])("a job that is %s (wanted: %s) cannot be put first", async (status, is_active) => {
  await page.show("operator", <RunNext job={job({ status, is_active })} />);
  expect(page.buttons()).toEqual([]);
});

test("a viewer reads the priority and changes nothing", async () => {
  await page.show(
    "viewer",
    <>
      <RunNext job={job()} />
      <Priority job={job({ priority: 7 })} />
    </>,
  );
  expect(page.buttons()).toEqual([]);
  expect(page.text).toBe("7");
});

test("a priority is changed, and one beyond its bounds is not sent", async () => {
  await page.show("operator", <Priority job={job()} />);
  const change = () => document.querySelector<HTMLButtonElement>("button")?.disabled;
  expect(change()).toBe(true);
  await write("101");
  expect(change()).toBe(true);
  expect(page.text).toContain("Enter a whole number, −100 to 100.");
  await write("-5");
  await page.press("Change");
  await page.settle();
  expect(sent()).toEqual([["PATCH", '{"priority":-5}']]);
});

test("a job that was put first takes its place by the same priority again", async () => {
  await page.show("operator", <Priority job={job({ put_first: 9 })} />);
  await page.press("Change");
  await page.settle();
  expect(sent()).toEqual([["PATCH", '{"priority":0}']]);
});

test.each<[Partial<JobRow>, string]>([
  [{}, ""],
  [{ priority: 3 }, "+3"],
  [{ priority: -3 }, "-3"],
  [{ priority: 3, put_first: 9 }, "Next"],
])("a list says of %o: %s", async (change, mark) => {
  await page.show("viewer", <PlaceMark job={job(change)} />);
  expect(page.text).toBe(mark);
});

test.each(["0", "100", "-100", " 7 ", "+7"])("%s is a priority", (text) => expect(isPriority(text)).toBe(true));
test.each(["", "101", "-101", "1.5", "1e2", "x"])("%s is none", (text) => expect(isPriority(text)).toBe(false));
