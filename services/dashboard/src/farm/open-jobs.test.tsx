// @vitest-environment happy-dom
/** The jobs are there in the moment in which the page stops saying that it is loading. */
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useIsReading } from "@/app/context";
import { TestPage } from "@/app/testing";
import type { JobRow } from "@/lib/rest/rows";
import { useOpenJobs } from "./open-jobs";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

function Shown() {
  const { active, waiting } = useOpenJobs();
  return useIsReading() ? "loading" : `${active?.title ?? "none"}, ${waiting.length} waiting`;
}

test("a page that is no longer loading never looks empty first", async () => {
  const page = new TestPage();
  await act(async () => page.live.status.set({ phase: "loading", devices: 0 }));
  await page.show("viewer", <Shown />);
  expect(page.text).toContain("loading");
  await act(async () => {
    const job = { created_at: "2026-11-16T09:00:00Z", is_active: true } as JobRow;
    page.live.fleet.jobs.set("J1", { ...job, id: "J1", title: "Launch", status: "active" });
    page.live.fleet.jobs.set("J2", { ...job, id: "J2", status: "created" });
    page.live.status.set({ phase: "live" });
  });
  expect(page.text).toContain("Launch, 1 waiting");
});
