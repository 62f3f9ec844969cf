/** Rows and events together: what is shown is what is, from the first picture on. DF-23, EV-05. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { shownAs } from "./fleet";
import { Frames } from "./frame";
import { ENDED_JOBS_KEPT_MS, Live, LOOK_AGAIN_MS } from "./live";
import { SLICE_MS } from "./slices";
import { FakePlatform } from "./testing";

let platform: FakePlatform;
let live: Live;

const DEVICE = {
  id: "D1",
  serial_number: "SERIAL01",
  group_id: "P1-G1",
  pc_id: "PC-01",
  status: "online",
  capabilities: [],
  error_code: null,
  held_until: null,
  updated_at: "2026-11-16T08:00:00Z",
};
const JOB = {
  id: "J1",
  title: "Launch",
  status: "active",
  target: null,
  needs: [],
  updated_at: "2026-11-16T08:00:00Z",
};
const COUNTERS = { pending: 0, running: 0, retrying: 0, completed: 0, failed: 0, cancelled: 0 };
const ON_D1 = { assignment_id: "A1", job_id: "J1", device_id: "D1", run: 1, attempt: 1 };

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime("2026-11-16T09:00:00Z");
  platform = new FakePlatform();
  platform.rows = {
    devices: [DEVICE],
    workers: [{ id: "PC-01", capacity: 20, held_until: null }],
    jobs: [{ ...JOB, ...COUNTERS }],
  };
  live = new Live(platform, new Frames((flush) => setTimeout(flush, 16)));
});

afterEach(() => {
  live.stop();
  vi.useRealTimers();
});

const soon = () => vi.advanceTimersByTimeAsync(100);

async function open(): Promise<void> {
  live.start();
  await soon();
  platform.stream.hello("fleet=5.0");
  await soon();
}

const shown = () => {
  const device = live.fleet.devices.get("D1");
  return device === undefined ? undefined : shownAs(device);
};

test("EV-05: it reads the fleet as of the position at which the stream begins", async () => {
  await open();
  expect(live.status.get()).toEqual({ phase: "live" });
  expect(shown()).toBe("online");
  const positions = new Set(platform.reads.map((read) => read.headers.get("Drover-Min-Position")));
  expect(positions).toContain("fleet=5");
});

test("DF-23: events that come while the rows are read are applied afterwards, none is lost", async () => {
  let openGate = () => {};
  platform.gate = new Promise((resolve) => {
    openGate = resolve;
  });
  live.start();
  await soon();
  platform.stream.hello("fleet=5.0");
  platform.stream.event("fleet=6.0", "AttemptCreated", { ...ON_D1, pc_id: "PC-01" });
  platform.stream.event("fleet=6.1", "AttemptStarted", { ...ON_D1, progress_pct: 0, timeout_at: null });
  await soon();
  expect(live.status.get().phase).toBe("loading");
  openGate();
  await soon();
  expect(shown()).toBe("busy");
});

test("DF-23: a long backlog is applied in slices, in order, and what comes meanwhile after it", async () => {
  let openGate = () => {};
  platform.gate = new Promise((resolve) => {
    openGate = resolve;
  });
  live.start();
  await soon();
  platform.stream.hello("fleet=5.0");
  const backlog = Array.from({ length: 20 }, (_, n) => `fleet=${6 + n}.0`);
  for (const id of backlog) platform.stream.event(id, "DeviceWentOffline", { device_id: "D1", last_seen: null });
  await soon();
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += SLICE_MS; // each event is a slice of its own
    return now;
  });
  openGate();
  await vi.advanceTimersByTimeAsync(5);
  expect(live.tail.events.length).toBeLessThan(backlog.length);
  expect(live.status.get().phase).toBe("loading");
  platform.stream.event("fleet=26.0", "DeviceCameOnline", { device_id: "D1" });
  await soon();
  expect(live.tail.events.map((heard) => heard.place)).toEqual([...backlog, "fleet=26.0"]);
  expect(live.status.get()).toEqual({ phase: "live" });
  expect(shown()).toBe("online");
});

test("DF-23: a change is on the page with the next frame", async () => {
  await open();
  const seen = vi.fn();
  live.fleet.devices.watchRow("D1", seen);
  platform.stream.event("fleet=6.0", "DeviceWentOffline", { device_id: "D1", last_seen: null });
  await vi.advanceTimersByTimeAsync(20);
  expect(seen).toHaveBeenCalledTimes(1);
  expect(shown()).toBe("offline");
});

test("counters that events moved are checked against the row, and the row wins", async () => {
  await open();
  platform.stream.event("fleet=6.0", "AttemptCreated", { ...ON_D1, pc_id: "PC-01" });
  await soon();
  expect(live.fleet.jobs.get("J1")?.pending).toBe(1);
  platform.rows["jobs"] = [{ ...JOB, ...COUNTERS, completed: 7 }];
  await vi.advanceTimersByTimeAsync(LOOK_AGAIN_MS + 100);
  expect(live.fleet.jobs.get("J1")).toMatchObject({ pending: 0, completed: 7 });
  const last = platform.reads.at(-1);
  expect(last?.headers.get("Drover-Min-Position")).toBe("fleet=6");
});

test("while nothing happens nothing is asked", async () => {
  await open();
  await vi.advanceTimersByTimeAsync(2 * LOOK_AGAIN_MS);
  const before = platform.reads.length;
  await vi.advanceTimersByTimeAsync(10 * LOOK_AGAIN_MS);
  expect(platform.reads.length).toBe(before);
});

test("jobs that ended long ago are forgotten, open ones never", async () => {
  platform.rows["jobs"] = [
    { ...JOB, ...COUNTERS, ended_at: null },
    { ...JOB, ...COUNTERS, id: "J2", status: "completed", ended_at: "2026-11-16T08:50:00Z" },
  ];
  await open();
  expect([...live.fleet.jobs.keys()]).toEqual(["J1", "J2"]);
  await vi.advanceTimersByTimeAsync(2 * ENDED_JOBS_KEPT_MS);
  platform.stream.hello("fleet=5.0");
  await vi.advanceTimersByTimeAsync(2 * LOOK_AGAIN_MS);
  expect([...live.fleet.jobs.keys()]).not.toContain("J2");
});

test("a read of everything that fails is tried again", async () => {
  vi.spyOn(platform, "json").mockRejectedValueOnce(new Error("away"));
  await open();
  expect(live.status.get().phase).toBe("loading");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(live.status.get().phase).toBe("live");
});

test("cut off it says since when, and comes back without reading again", async () => {
  await open();
  const reads = platform.reads.length;
  platform.stream.break();
  await soon();
  expect(live.status.get()).toMatchObject({ phase: "lost" });
  await vi.advanceTimersByTimeAsync(1_000);
  platform.stream.hello("fleet=5.0");
  await soon();
  expect(live.status.get()).toEqual({ phase: "live" });
  expect(platform.reads.length - reads).toBeLessThan(3); // at most a look at doubtful rows
});

test("events of other contexts are in the tail and leave the fleet alone", async () => {
  await open();
  platform.stream.event("fleet=5.0,render=1.0", "RetryScheduled", { render_id: 1 });
  await soon();
  expect(live.tail.events.map((heard) => [heard.context, heard.place])).toEqual([["render", "render=1.0"]]);
  expect(live.fleet.assignments.size).toBe(0);
});

test("alerts of any context are open until they are resolved", async () => {
  await open();
  const alert = { alert_id: "L1", kind: "cleanup_failed", subject: "x", message: "no", details: {}, until: null };
  platform.stream.event("fleet=5.0,analysis=1.0", "AlertRaised", alert);
  await soon();
  expect(live.fleet.alerts.get("L1")).toMatchObject({ context: "analysis", kind: "cleanup_failed" });
  platform.stream.event("fleet=5.0,analysis=2.0", "AlertResolved", alert);
  await soon();
  expect(live.fleet.alerts.size).toBe(0);
});

test("ten thousand phones are read page by page", async () => {
  platform.rows["devices"] = Array.from({ length: 10_000 }, (_, n) => {
    const id = String(n).padStart(6, "0");
    return { ...DEVICE, id, serial_number: id, pc_id: `PC-${Math.floor(n / 20)}` };
  });
  await open();
  await soon();
  expect(live.fleet.devices.size).toBe(10_000);
  expect(live.fleet.shown.online).toBe(10_000);
  expect(live.fleet.devicesOf("PC-499")).toHaveLength(20);
});
