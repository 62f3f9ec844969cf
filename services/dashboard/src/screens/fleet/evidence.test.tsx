// @vitest-environment happy-dom
/** DF-30: what a stalled phone sent along is on its screen. */
import { afterEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { Evidence } from "./evidence";

afterEach(() => {
  document.body.replaceChildren();
});

test("DF-30: the activity stack and the screenshot of a failed run are shown", async () => {
  const stack = "com.google.android.youtube/.WatchActivity\ncom.android.systemui/.Dialog";
  await new TestPage().show("viewer", <Evidence run={{ screenshot: "shots/1.png", stack }} />);
  const shown = document.querySelector("details");
  expect(shown?.querySelector("summary")?.textContent).toBe("Activity stack");
  expect(shown?.querySelector("pre")?.textContent).toBe(stack);
  expect(document.body.textContent).toContain("shots/1.png");
});

test("DF-30: a run without them shows neither", async () => {
  await new TestPage().show("viewer", <Evidence run={{ screenshot: null, stack: null }} />);
  expect(document.querySelector("details")).toBeNull();
});
