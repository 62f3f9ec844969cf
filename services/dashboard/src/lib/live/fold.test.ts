/** The fleet on the page follows from the same events as the tables, by the same rules. DF-23, EV-05. */
import { readdirSync, readFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import type { AssignmentRow, DeviceRow, JobRow } from "../rest/rows";
import type { Envelope } from "./events";
import { assignmentOf, countedAs, deviceOf, FleetStore, shownAs } from "./fleet";
import { foldFleet } from "./fold-fleet";
import { Frames } from "./frame";

const SAMPLES = new URL("../../../../../contracts/samples/fleet/", import.meta.url);

let fleet: FleetStore;
let second: number;

beforeEach(() => {
  fleet = new FleetStore(new Frames(() => {}));
  second = 0;
});

function hear(type: string, fields: object = {}): void {
  const at = `2026-11-16T09:00:${String(second++).padStart(2, "0")}.000000Z`;
  foldFleet(fleet, { type, at, by: "anon", cause: "c", n: second, ...fields } as Envelope);
}

const ON_D1 = { assignment_id: "A1", job_id: "J1", device_id: "D1", run: 1, attempt: 1 };
const JOB = { job_id: "J1", title: "Launch", target: null, is_active: true };
const TIMEOUT = { timeout_at: "2026-11-16T09:20:00Z" };

function aPhoneOnline(): void {
  hear("PcRegistered", { pc_id: "PC-01", capacity: 20 });
  hear("DeviceRegistered", {
    device_id: "D1",
    serial_number: "SERIAL01",
    group_id: "P1-G1",
    pc_id: "PC-01",
    capabilities: [],
  });
  hear("DeviceCameOnline", { device_id: "D1" });
}

function anAttemptRunning(): void {
  aPhoneOnline();
  hear("JobCreated", JOB);
  hear("JobActivated", { job_id: "J1" });
  hear("AttemptCreated", { ...ON_D1, pc_id: "PC-01" });
  hear("AttemptSent", { ...ON_D1, ...TIMEOUT });
  hear("AttemptStarted", { ...ON_D1, ...TIMEOUT, progress_pct: 0 });
}

const shown = () => {
  const device = fleet.devices.get("D1");
  return device === undefined ? undefined : shownAs(device);
};
const counters = () => {
  const { pending, running, retrying, completed, failed, cancelled } = fleet.jobs.get("J1") as JobRow;
  return { pending, running, retrying, completed, failed, cancelled };
};
const NONE = { pending: 0, running: 0, retrying: 0, completed: 0, failed: 0, cancelled: 0 };

describe("DF-23: a phone", () => {
  test("is offline until it is heard, then online", () => {
    aPhoneOnline();
    expect(shown()).toBe("online");
    hear("DeviceWentOffline", { device_id: "D1", last_seen: null });
    expect(shown()).toBe("offline");
  });

  test("is busy while something runs, and online afterwards", () => {
    anAttemptRunning();
    expect(shown()).toBe("busy");
    hear("AttemptSucceeded", ON_D1);
    expect(shown()).toBe("online");
    expect(fleet.devices.get("D1")?.assignment).toBeNull();
  });

  test("in error is in error, whatever else is true of it, until it is released", () => {
    aPhoneOnline();
    hear("DeviceQuarantined", { device_id: "D1", rule: "APP_CRASH", until: null, condition: null });
    expect(shown()).toBe("error");
    hear("DeviceReleased", { device_id: "D1", reason: "time" });
    expect(shown()).toBe("online");
  });

  test("that was in error when it was read is read again when it is released: nobody told whether it is heard", () => {
    const row = { id: "D1", status: "error", error_code: "APP_CRASH", pc_id: "PC-01" } as DeviceRow;
    fleet.putDevice(deviceOf(row));
    hear("DeviceReleased", { device_id: "D1", reason: "time" });
    expect(fleet.takeStale("devices", 10)).toEqual(["D1"]);
  });

  test("that is reset is offline until it is heard", () => {
    aPhoneOnline();
    hear("DeviceQuarantined", { device_id: "D1", rule: "OUT_OF_MEMORY", until: null, condition: null });
    hear("DeviceReset", { device_id: "D1" });
    expect(shown()).toBe("offline");
  });

  test("that did not take its offers is shown as held", () => {
    aPhoneOnline();
    hear("DeviceHeld", { device_id: "D1", until: "2026-11-16T09:05:00Z", untaken: 1 });
    expect(shown()).toBe("held");
    hear("DeviceHoldEnded", { device_id: "D1" });
    expect(shown()).toBe("online");
  });

  test("stands in the rack of its PC, by serial number, also after it has moved", () => {
    aPhoneOnline();
    const other = { group_id: "P1-G1", pc_id: "PC-01", capabilities: [] };
    hear("DeviceRegistered", { device_id: "D0", serial_number: "SERIAL00", ...other });
    expect(fleet.devicesOf("PC-01")).toEqual(["D0", "D1"]);
    hear("DeviceChanged", { device_id: "D0", ...other, pc_id: "PC-02" });
    expect([fleet.devicesOf("PC-01"), fleet.devicesOf("PC-02")]).toEqual([["D1"], ["D0"]]);
  });

  test("is counted once, wherever it goes", () => {
    anAttemptRunning();
    expect(fleet.shown).toEqual({ busy: 1, online: 0, held: 0, error: 0, offline: 0 });
    hear("AttemptSucceeded", ON_D1);
    hear("DeviceWentOffline", { device_id: "D1", last_seen: null });
    expect(fleet.shown).toEqual({ busy: 0, online: 0, held: 0, error: 0, offline: 1 });
  });
});

describe("DF-23: an attempt", () => {
  test("is counted where it stands, from the offer to the end", () => {
    aPhoneOnline();
    hear("JobCreated", JOB);
    hear("AttemptCreated", { ...ON_D1, pc_id: "PC-01" });
    expect(counters()).toEqual({ ...NONE, pending: 1 });
    hear("AttemptSent", { ...ON_D1, ...TIMEOUT });
    expect(counters()).toEqual({ ...NONE, pending: 1 });
    hear("AttemptStarted", { ...ON_D1, ...TIMEOUT, progress_pct: 0 });
    expect(counters()).toEqual({ ...NONE, running: 1 });
    hear("AttemptSucceeded", ON_D1);
    expect(counters()).toEqual({ ...NONE, completed: 1 });
  });

  test("shows its progress, and loses it when it begins again", () => {
    anAttemptRunning();
    hear("AttemptProgressed", { ...ON_D1, progress_pct: 40, ad_playing: true });
    expect(fleet.assignments.get("A1")).toMatchObject({ progress: 40, isAdPlaying: true });
    hear("AttemptFailed", { ...ON_D1, code: "APP_CRASH", message: null });
    expect(fleet.assignments.get("A1")).toMatchObject({ progress: 0, isAdPlaying: false, phase: "retrying" });
  });

  test("that failed and is retried keeps its slot; the phone is not busy meanwhile", () => {
    anAttemptRunning();
    hear("AttemptFailed", { ...ON_D1, code: "APP_CRASH", message: null });
    hear("RetryScheduled", { ...ON_D1, due: "2026-11-16T09:00:30Z" });
    expect(counters()).toEqual({ ...NONE, retrying: 1 });
    expect(shown()).toBe("online");
    expect(fleet.devices.get("D1")?.assignment).toBe("A1");
    expect(fleet.assignments.get("A1")).toMatchObject({ attempt: 2, phase: "retrying" });
  });

  test("whose retry waits for its phone is a retry without a slot", () => {
    anAttemptRunning();
    hear("AttemptFailed", { ...ON_D1, code: "SCREEN_LOCKED", message: null });
    hear("RetryScheduled", { ...ON_D1, due: null });
    expect(counters()).toEqual({ ...NONE, retrying: 1 });
    expect(fleet.devices.get("D1")?.assignment).toBeNull();
  });

  test("that failed for good is counted as failed and forgotten", () => {
    anAttemptRunning();
    hear("AttemptFailed", { ...ON_D1, code: "VIDEO_UNAVAILABLE", message: null });
    hear("AttemptFailedFinal", { ...ON_D1, code: "VIDEO_UNAVAILABLE", message: null });
    expect(counters()).toEqual({ ...NONE, failed: 1 });
    expect(fleet.assignments.size).toBe(0);
  });

  test("that was lost with its network waits, uncounted, and the slot is free", () => {
    anAttemptRunning();
    hear("AttemptRolledBack", { ...ON_D1, reason: "silent" });
    expect(counters()).toEqual({ ...NONE, pending: 1 });
    expect(fleet.devices.get("D1")).toMatchObject({ assignment: null, isRunning: false });
  });

  test("whose offer was taken back counts nowhere until the job comes to its phone again", () => {
    aPhoneOnline();
    hear("JobCreated", JOB);
    hear("AttemptCreated", { ...ON_D1, pc_id: "PC-01" });
    hear("AttemptCancelled", { ...ON_D1, reason: "offline" });
    hear("AssignmentCancelled", { ...ON_D1, reason: "offline" });
    expect(counters()).toEqual(NONE);
    hear("AttemptCreated", { ...ON_D1, assignment_id: "A2", pc_id: "PC-01" });
    expect(counters()).toEqual({ ...NONE, pending: 1 });
  });

  test("that waits for its phone when the job is completed counts once, in the end as skipped", () => {
    anAttemptRunning();
    hear("AttemptRolledBack", { ...ON_D1, reason: "silent" });
    hear("JobCompleted", { job_id: "J1", completed: 0, failed: 0, skipped: 1 });
    expect(fleet.jobs.get("J1")).toMatchObject({ ...NONE, pending: 1, skipped: 0 });
    hear("AssignmentCancelled", { ...ON_D1, reason: "completed" });
    expect(fleet.jobs.get("J1")).toMatchObject({ ...NONE, skipped: 1 });
  });

  test("that ends with its job counts as cancelled", () => {
    aPhoneOnline();
    hear("JobCreated", JOB);
    hear("AttemptCreated", { ...ON_D1, pc_id: "PC-01" });
    hear("JobCancelled", { job_id: "J1" });
    hear("AssignmentCancelled", { ...ON_D1, reason: "cancelled" });
    expect(counters()).toEqual({ ...NONE, cancelled: 1 });
  });

  test("of another assignment leaves alone what the phone has in hand", () => {
    anAttemptRunning();
    hear("AssignmentRequested", { assignment_id: "A2", job_id: "J1", device_id: "D1" });
    hear("AssignmentCancelled", { assignment_id: "A2", job_id: "J1", device_id: "D1", reason: "admin" });
    expect(shown()).toBe("busy");
    expect(counters()).toEqual({ ...NONE, running: 1, cancelled: 1 });
  });
});

describe("EV-05: rows that were read, and the events that came meanwhile", () => {
  test("an event that the row tells of already is not applied twice", () => {
    aPhoneOnline();
    fleet.jobs.set("J1", { ...NONE, id: "J1", running: 1 } as unknown as JobRow);
    const row = { id: "A1", job_id: "J1", device_id: "D1", status: "running", progress_pct: 50 } as AssignmentRow;
    fleet.assignments.set("A1", assignmentOf({ ...row, updated_at: "2026-11-16T09:00:30.000000+00:00" }));
    hear("AttemptStarted", { ...ON_D1, ...TIMEOUT, progress_pct: 0 });
    expect(fleet.assignments.get("A1")?.progress).toBe(50);
    expect(counters()).toEqual({ ...NONE, running: 1 });
  });

  test("a phone that was read as busy, with work that ended meanwhile, is freed by that end", () => {
    fleet.putDevice(deviceOf({ id: "D1", status: "busy", pc_id: "PC-01", error_code: null } as DeviceRow));
    hear("AttemptSucceeded", ON_D1);
    expect(fleet.devices.get("D1")?.isRunning).toBe(false);
  });

  test("two events in one microsecond of live news are both applied", () => {
    anAttemptRunning();
    const at = "2026-11-16T09:01:00.000001Z";
    for (const type of ["AttemptFailed", "RetryScheduled"]) {
      foldFleet(fleet, { type, at, by: "", cause: "", n: 0, ...ON_D1, code: "X", due: at } as Envelope);
    }
    expect(fleet.assignments.get("A1")).toMatchObject({ attempt: 2, retryDueAt: at });
  });

  test("a job, a PC or a phone that was read is not made anew", () => {
    aPhoneOnline();
    fleet.jobs.set("J1", { ...NONE, id: "J1", completed: 7 } as unknown as JobRow);
    hear("JobCreated", JOB);
    expect(counters().completed).toBe(7);
    const before = fleet.devices.get("D1");
    hear("DeviceRegistered", { device_id: "D1", serial_number: "OTHER000", pc_id: "PC-01", capabilities: [] });
    expect(fleet.devices.get("D1")).toBe(before);
  });

  test("what an event changes and nobody knows is marked to be read", () => {
    hear("DeviceCameOnline", { device_id: "D9" });
    hear("JobPaused", { job_id: "J9", reason: "admin", rule: null });
    expect(fleet.takeStale("devices", 10)).toEqual(["D9"]);
    expect(fleet.takeStale("jobs", 10)).toEqual(["J9"]);
  });
});

describe("a job", () => {
  test.each([
    ["JobPaused", { reason: "admin", rule: null }, { status: "paused", paused_for: "admin" }],
    ["JobPaused", { reason: "poison", rule: "APP_CRASH" }, { status: "paused", paused_for: "APP_CRASH" }],
    ["JobResumed", {}, { status: "created", paused_for: null }],
    ["JobReturned", {}, { status: "created" }],
    ["JobCancelled", {}, { status: "cancelled", end_reason: "admin" }],
    ["JobDeactivated", { rule: "VIDEO_UNAVAILABLE" }, { status: "deactivated", end_reason: "VIDEO_UNAVAILABLE" }],
    ["JobExpired", {}, { status: "expired", end_reason: "time" }],
    ["JobCompleted", { completed: 1, failed: 0, skipped: 3 }, { status: "completed", skipped: 3 }],
    ["JobNeedAdded", { capability: "age_verified" }, { needs: ["age_verified"] }],
  ])("after %s %o", (type, fields, expected) => {
    hear("JobCreated", JOB);
    hear("JobActivated", { job_id: "J1" });
    hear(type, { job_id: "J1", ...fields });
    expect(fleet.jobs.get("J1")).toMatchObject(expected);
  });
});

/** Known, and of no consequence for what is shown. */
const WITHOUT_RULE = new Set([
  "TermStarted",
  "SupplyAdvanced",
  "JobArchived",
  "StaleReportRefused",
  "AlertRaised",
  "AlertResolved",
]);

describe("every event of the fleet that was ever released", () => {
  const samples = readdirSync(SAMPLES).map((name) => ({
    name,
    event: JSON.parse(readFileSync(new URL(name, SAMPLES), "utf8")) as Envelope,
  }));

  test.each(samples)("$name is folded without a fault", ({ event }) => {
    expect(() => foldFleet(fleet, event)).not.toThrow();
  });

  test.each(samples.filter(({ event }) => !WITHOUT_RULE.has(event.type)))("$name leaves a trace", ({ event }) => {
    const { pc_id: id } = event as Envelope & { pc_id?: string };
    if (id !== undefined && event.type !== "PcRegistered") fleet.pcs.set(id, { id, capacity: 1, heldUntil: null });
    const tables = [fleet.devices, fleet.pcs, fleet.jobs, fleet.assignments];
    const changes = () => tables.reduce((sum, table) => sum + table.version(), 0);
    const before = changes();
    foldFleet(fleet, event);
    const stale = fleet.takeStale("devices", 10).length + fleet.takeStale("jobs", 10).length;
    const noticed = changes() - before + stale;
    expect(noticed).toBeGreaterThan(0);
  });
});

test("every phase has its counter", () => {
  const phases = ["waiting", "offered", "sent", "running", "retrying", "completed", "failed"] as const;
  expect(phases.map((phase) => countedAs({ phase, failures: 0 } as never))).toEqual([
    "pending",
    "pending",
    "pending",
    "running",
    "retrying",
    "completed",
    "failed",
  ]);
});
