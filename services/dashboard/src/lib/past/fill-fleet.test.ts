/** A moment of the past becomes rows as screens know them from the present. */
import { expect, test } from "vitest";
import { FleetStore, shownAs } from "../live/fleet";
import { Frames } from "../live/frame";
import type { AlertRow, JobRow } from "../rest/rows";
import { fillFleet } from "./fill-fleet";
import type { FleetMoment, PastDevice, PastJob } from "./moments";

const AT = "2026-11-16T03:00:00Z";

function device(id: string, more: Partial<PastDevice> = {}): PastDevice {
  const base = { serial_number: `S-${id}`, pc_id: "PC-1", group_id: "G1", status: "online" as const };
  return { id, ...base, error_code: null, error_until: null, held_until: null, work: null, ...more };
}

const work = { assignment_id: "A1", job_id: "J1", run: 2, attempt: 2, started_at: AT };

function job(more: Partial<PastJob> = {}): PastJob {
  const counts = { in_flight: 2, waiting: 3, completed: 5, failed: 1, priority: 7, put_first: 0 };
  return {
    not_before: null,
    is_scheduled: false,
    id: "J1",
    title: "One",
    status: "active",
    created_at: AT,
    activated_at: AT,
    ended_at: null,
    ...counts,
    ...more,
  };
}

const present = {
  id: "J1",
  title: "Renamed",
  target: { group_id: "G1" },
  status: "completed",
  end_reason: "done",
  cancelled: 4,
} as JobRow;

function shown(moment: Partial<FleetMoment>, alerts: readonly AlertRow[] = []): FleetStore {
  const fleet = new FleetStore(new Frames(() => {}));
  const pcs = [{ id: "PC-1", capacity: 20, held_until: null, slots_used: 0 }];
  const whole = { at: AT, pcs, devices: [], jobs: [], alerts: [], ...moment };
  fillFleet(fleet, { moment: whole, jobs: new Map([["J1", present]]), alerts });
  return fleet;
}

test.each([
  [{ status: "online" }, "online"],
  [{ status: "busy", work: { ...work, status: "running", progress_pct: 40 } }, "busy"],
  [{ status: "offline" }, "offline"],
  [{ status: "error", error_code: "APP_CRASH" }, "error"],
  [{ status: "online", held_until: AT }, "held"],
] as [Partial<PastDevice>, string][])("%o is shown as %s", (then, as) => {
  const fleet = shown({ devices: [device("D1", then)] });
  const found = fleet.devices.get("D1");
  expect(found && shownAs(found)).toBe(as);
  expect(fleet.shown[as as "busy"]).toBe(1);
});

test("phones stand in their racks, with what they had in hand", () => {
  const fleet = shown({
    devices: [device("D2", { status: "busy", work: { ...work, status: "running", progress_pct: 40 } }), device("D1")],
  });
  expect(fleet.devicesOf("PC-1")).toEqual(["D1", "D2"]);
  expect(fleet.assignments.get(fleet.devices.get("D2")?.assignment ?? "")).toMatchObject({
    job: "J1",
    device: "D2",
    phase: "running",
    progress: 40,
    attempt: 2,
  });
});

test("a job is as it was then, and for whom it always was", () => {
  const fleet = shown({
    jobs: [job()],
    devices: [device("D1", { status: "busy", work: { ...work, status: "running", progress_pct: 40 } })],
  });
  expect(fleet.jobs.get("J1")).toMatchObject({
    title: "One",
    status: "active",
    target: { group_id: "G1" },
    running: 1,
    pending: 4, // one that was offered, three that waited
    completed: 5,
    failed: 1,
    cancelled: 0,
    end_reason: null,
  });
});

test("a job that was over by then has its end", () => {
  const ended = job({ status: "completed", ended_at: AT, in_flight: 0, waiting: 0 });
  expect(shown({ jobs: [ended] }).jobs.get("J1")).toMatchObject({ end_reason: "done", cancelled: 4, is_active: false });
});

test("a job that paused by itself says why, from the alert that was open", () => {
  const alert = { id: "x", kind: "poison_job", subject: "J1", details: { rule: "APP_CRASH" } } as unknown as AlertRow;
  const fleet = shown({ jobs: [job({ status: "paused" })] }, [alert]);
  expect(fleet.jobs.get("J1")?.paused_for).toBe("APP_CRASH");
  expect(fleet.alerts.size).toBe(1);
});

test("a job whose row is gone is shown all the same", () => {
  expect(shown({ jobs: [job({ id: "J9" })] }).jobs.get("J9")).toMatchObject({
    title: "One",
    target: null,
    completed: 5,
  });
});

test("the next moment replaces the one before", () => {
  const fleet = shown({ devices: [device("D1")] });
  fillFleet(fleet, { moment: { at: AT, pcs: [], devices: [], jobs: [], alerts: [] }, jobs: new Map(), alerts: [] });
  expect([fleet.devices.size, fleet.pcs.size, fleet.shown.online]).toEqual([0, 0, 0]);
});
