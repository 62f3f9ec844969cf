// @vitest-environment happy-dom
/** Whether the page shows what is, or what was last known. */
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveBanner, LiveDot } from "./live-banner";
import { TestPage } from "./testing";

let page: TestPage;

beforeEach(async () => {
  page = new TestPage();
  page.live.status.set({ phase: "live" });
  await page.show(
    "viewer",
    <>
      <LiveBanner />
      <LiveDot />
    </>,
  );
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

test("while the tables of a part stand still it says that it shows the last known state of that part", async () => {
  expect(page.text).toBe("Live");
  await act(async () => page.live.stale.set(new Set(["render", "fleet"])));
  await act(() => vi.advanceTimersByTimeAsync(2_000));
  expect(page.text).toContain("Showing the last known state of: Renders, Fleet.");
  await act(async () => page.live.stale.set(new Set()));
  expect(page.text).toBe("Live");
});
