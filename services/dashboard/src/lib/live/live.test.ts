/** Rows that are read and rows that are told: what is shown is what is, from the first picture on. DF-23, EV-05. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { shownAs } from "./fleet";
import { Frames } from "./frame";
import { ENDED_JOBS_KEPT_MS, Live, READ_EVERY_MS, SPREAD_MS } from "./live";
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
const COUNTERS = { pending: 0, running: 0, retrying: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
const JOB = {
  id: "J1",
  title: "Launch",
  status: "active",
  target: null,
  needs: [],
  ended_at: null,
  updated_at: "2026-11-16T08:00:00Z",
  ...COUNTERS,
};
const ASSIGNMENT = {
  id: "A1",
  job_id: "J1",
  device_id: "D1",
  status: "running",
  progress_pct: 10,
  attempt: 1,
  run: 1,
  retry_count: 0,
  ad_playing: false,
  assigned_at: "2026-11-16T08:59:50Z",
  sent_at: "2026-11-16T08:59:51Z",
  started_at: "2026-11-16T08:59:53Z",
  timeout_at: null,
  retry_due_at: null,
  updated_at: "2026-11-16T08:59:53Z",
};
const ALERT = {
  context: "analysis",
  id: "L1",
  kind: "cleanup_failed",
  resolved_at: null,
  raised_at: DEVICE.updated_at,
};
const END = { id: 7, event_type: "SUCCEEDED", error_code: null, device_id: "D1", task_id: "J1" };

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime("2026-11-16T09:00:00Z");
  platform = new FakePlatform();
  platform.rows = {
    devices: [DEVICE],
    workers: [{ id: "PC-01", device_capacity: 20, held_until: null }],
    jobs: [JOB],
  };
  live = new Live(platform, { frames: new Frames((flush) => setTimeout(flush, 16)) });
});

afterEach(() => {
  live.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const soon = () => vi.advanceTimersByTimeAsync(100);
/** Until what is due is read. */
const paced = () => vi.advanceTimersByTimeAsync(READ_EVERY_MS + SPREAD_MS + 100);

async function open(): Promise<void> {
  live.start();
  await soon();
  platform.stream.hello("fleet=5");
  await soon();
}

/** Reads wait until it is called. */
function holdReads(): () => void {
  let go = () => {};
  platform.gate = new Promise((resolve) => {
    go = resolve;
  });
  return go;
}

const shown = () => {
  const device = live.fleet.devices.get("D1");
  return device === undefined ? undefined : shownAs(device);
};
const later = (row: object, change: object, at = "2026-11-16T09:00:01Z") => ({ ...row, ...change, updated_at: at });

test("EV-05: it reads the fleet as of the position at which the stream begins", async () => {
  await open();
  expect(live.status.get()).toEqual({ phase: "live" });
  expect(shown()).toBe("online");
  expect(live.fleet.pcs.get("PC-01")).toEqual({ id: "PC-01", capacity: 20, heldUntil: null });
  const positions = new Set(platform.reads.map((read) => read.headers.get("Drover-Min-Position")));
  expect([...positions]).toEqual(["fleet=5"]);
});

test("DF-23: a row that is told is on the page with the next frame, and one that is gone is not", async () => {
  await open();
  const seen = vi.fn();
  live.fleet.devices.watchRow("D1", seen);
  platform.stream.rows("devices", [later(DEVICE, { status: "offline" })]);
  await vi.advanceTimersByTimeAsync(20);
  expect(seen).toHaveBeenCalledTimes(1);
  expect(shown()).toBe("offline");
  expect(live.fleet.shown).toMatchObject({ online: 0, offline: 1 });
  platform.stream.rows("devices", [], [["D1"]]);
  await soon();
  expect(live.fleet.devices.size).toBe(0);
  expect(live.fleet.shown.offline).toBe(0);
  expect(live.fleet.devicesOf("PC-01")).toEqual([]);
});

test("DF-23: what is told while the rows are read is applied after them, none is lost", async () => {
  const go = holdReads();
  await open();
  platform.stream.rows("devices", [later(DEVICE, { status: "busy" }), later({ ...DEVICE, id: "D2" }, {})]);
  await soon();
  expect(live.status.get().phase).toBe("loading");
  go();
  await soon();
  expect(shown()).toBe("busy");
  expect(live.fleet.devices.size).toBe(2);
});

test("DF-23: much that is told is applied in slices, in order, and what comes meanwhile after it", async () => {
  await open();
  const many = Array.from({ length: 20 }, (_, n) =>
    later(DEVICE, { group_id: `G${n}` }, `2026-11-16T09:00:${10 + n}Z`),
  );
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += SLICE_MS; // each row is a slice of its own
    return now;
  });
  platform.stream.rows("devices", many);
  await vi.advanceTimersByTimeAsync(5);
  expect(live.fleet.devices.get("D1")?.group).not.toBe("G19");
  platform.stream.rows("devices", [later(DEVICE, { group_id: "last" }, "2026-11-16T09:01:00Z")]);
  await soon();
  expect(live.fleet.devices.get("D1")?.group).toBe("last");
});

test("a row that was told late does not undo a newer one that was read", async () => {
  platform.rows["devices"] = [later(DEVICE, { status: "busy" }, "2026-11-16T09:00:00.000009Z")];
  platform.rows["jobs"] = [later(JOB, { completed: 9 })];
  await open();
  platform.stream.rows("devices", [later(DEVICE, { status: "offline" }, "2026-11-16T09:00:00.000008Z")]);
  platform.stream.rows("jobs", [JOB]);
  await soon();
  expect(shown()).toBe("busy");
  expect(live.fleet.jobs.get("J1")?.completed).toBe(9);
});

test("what a phone has in hand follows from its assignments, whichever is told first", async () => {
  platform.rows["job_assignments"] = [ASSIGNMENT];
  await open();
  const inHand = () => live.fleet.devices.get("D1")?.assignment;
  expect(inHand()).toBe("A1");
  const next = { ...ASSIGNMENT, id: "A2", status: "pending", started_at: null };
  platform.stream.rows("job_assignments", [later(next, {}), later(ASSIGNMENT, { status: "completed" })]);
  platform.stream.rows("devices", [later(DEVICE, { status: "online" })]);
  await soon();
  expect(inHand()).toBe("A2");
  expect([...live.fleet.assignments.keys()]).toEqual(["A2"]);
  platform.stream.rows("job_assignments", [later(next, { assigned_at: null, sent_at: null }, "2026-11-16T09:00:02Z")]);
  await soon();
  expect(inHand()).toBeNull();
  expect(live.fleet.assignments.get("A2")?.phase).toBe("waiting");
});

test("a reset reads those relations again and forgets rows that are no more, and shows the old ones until then", async () => {
  await open();
  const reads = platform.reads.length;
  platform.rows["devices"] = [{ ...DEVICE, id: "D2", serial_number: "SERIAL02" }];
  platform.stream.reset(["devices"], "fleet=9");
  await soon();
  expect(shown()).toBe("online");
  await paced();
  expect([...live.fleet.devices.keys()]).toEqual(["D2"]);
  expect(live.fleet.shown.online).toBe(1);
  const again = platform.reads.slice(reads);
  expect(again.map((read) => read.path.split("?")[0])).toEqual(["/rest/v1/devices"]);
  expect(again[0]?.headers.get("Drover-Min-Position")).toBe("fleet=9");
  expect(live.status.get()).toEqual({ phase: "live" });
});

test("a reset while everything is read is followed by another read, and each read ends", async () => {
  const go = holdReads();
  await open();
  platform.stream.reset(["devices", "jobs"], "fleet=8");
  platform.stream.reset(["devices"], "render=2");
  platform.stream.rows("devices", [later(DEVICE, { status: "busy" })]);
  await soon();
  platform.rows["devices"] = [later(DEVICE, { status: "offline" }, "2026-11-16T09:00:03Z")];
  go();
  await paced();
  expect(live.status.get()).toEqual({ phase: "live" });
  expect(shown()).toBe("offline");
  const last = platform.reads.filter((read) => read.path.includes("/devices?")).at(-1);
  expect(last?.headers.get("Drover-Min-Position")).toBe("fleet=8,render=2");
});

test("however often it is told to read again, it does so at its own pace", async () => {
  await open();
  const reads = platform.reads.length;
  for (let n = 0; n < 100; n++) {
    platform.stream.reset(["devices"], `fleet=${10 + n}`);
    await vi.advanceTimersByTimeAsync(100);
  }
  await paced();
  expect(platform.reads.length - reads).toBeLessThanOrEqual(10_000 / READ_EVERY_MS + 2);
  expect(platform.reads.at(-1)?.headers.get("Drover-Min-Position")).toBe("fleet=109");
});

test("a read that fails is tried again, and what is told meanwhile is shown", async () => {
  await open();
  vi.spyOn(platform, "json").mockRejectedValueOnce(new Error("away"));
  platform.stream.reset(["devices"], "fleet=9");
  platform.stream.rows("devices", [later(DEVICE, { status: "busy" })]);
  await paced();
  expect(shown()).toBe("busy");
  platform.rows["devices"] = [later(DEVICE, { status: "offline" }, "2026-11-16T09:00:03Z")];
  await paced();
  expect(shown()).toBe("offline");
});

test("cut off it says since when, and comes back without reading again", async () => {
  await open();
  platform.stream.rows("devices", [], [], "token-6");
  await soon();
  const reads = platform.reads.length;
  platform.stream.break();
  await soon();
  expect(live.status.get()).toMatchObject({ phase: "lost" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(platform.stream.headers.get("Last-Event-ID")).toBe("token-6");
  platform.stream.hello("fleet=7");
  platform.stream.rows("devices", [later(DEVICE, { status: "busy" })]);
  await paced();
  expect(live.status.get()).toEqual({ phase: "live" });
  expect(shown()).toBe("busy");
  expect(platform.reads.length).toBe(reads);
});

test("a server that gave nothing to come back with is read anew", async () => {
  live.start();
  await soon();
  platform.stream.hello("");
  await soon();
  const reads = platform.reads.length;
  platform.stream.break();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(platform.stream.headers.get("Last-Event-ID")).toBeNull();
  platform.stream.hello("fleet=7");
  await paced();
  expect(platform.reads.length).toBeGreaterThan(reads);
});

test("while the read model stands still the page says so, and what it shows stays", async () => {
  await open();
  platform.stream.lag("fleet", true);
  await soon();
  expect([...live.stale.get()]).toEqual(["fleet"]);
  expect(shown()).toBe("online");
  platform.stream.lag("fleet", false);
  await soon();
  expect(live.stale.get().size).toBe(0);
});

test("while nothing happens nothing is asked", async () => {
  await open();
  const before = platform.reads.length;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(platform.reads.length).toBe(before);
});

test("each attempt is counted once, whether it was read, told, or both", async () => {
  const created_at = "2026-11-16T08:59:30Z";
  platform.rows["tasks_event"] = [{ ...END, created_at }];
  await open();
  const ends = () => live.tally.endsSince("J1", Date.now() - 600_000);
  expect(ends()).toBe(1);
  platform.stream.rows("tasks_event", [
    { ...END, created_at },
    { ...END, id: 8, created_at },
  ]);
  await soon();
  expect(ends()).toBe(2);
  platform.rows["tasks_event"] = [7, 8, 9].map((id) => ({ ...END, id, created_at }));
  platform.stream.reset(["tasks_event"], "fleet=9");
  await paced();
  expect(ends()).toBe(3);
});

test("the wait of an attempt is counted when it starts, and not again with its progress", async () => {
  await open();
  platform.stream.rows("job_assignments", [later(ASSIGNMENT, { started_at: null, status: "pending" })]);
  platform.stream.rows("job_assignments", [later(ASSIGNMENT, {}, "2026-11-16T09:00:02Z")]);
  platform.stream.rows("job_assignments", [later(ASSIGNMENT, { progress_pct: 50 }, "2026-11-16T09:00:03Z")]);
  await soon();
  const waits = live.tally.series(Date.now() + 15_000, 15).waitP50.filter((wait) => wait !== null);
  expect(waits).toEqual([3_000]);
});

test("alerts of any context are open until they are resolved, and their ids are those of their context", async () => {
  platform.rows["alerts"] = [{ ...ALERT, context: "identity" }];
  await open();
  platform.stream.rows("alerts", [ALERT]);
  await soon();
  expect(live.fleet.alerts.size).toBe(2);
  platform.stream.rows("alerts", [{ ...ALERT, resolved_at: "2026-11-16T09:00:00Z" }]);
  await soon();
  expect([...live.fleet.alerts.values()].map((alert) => alert.context)).toEqual(["identity"]);
});

test("jobs that ended long ago are forgotten, open ones never", async () => {
  platform.rows["jobs"] = [JOB, { ...JOB, id: "J2", status: "completed", ended_at: "2026-11-16T08:50:00Z" }];
  await open();
  expect([...live.fleet.jobs.keys()]).toEqual(["J1", "J2"]);
  await vi.advanceTimersByTimeAsync(2 * ENDED_JOBS_KEPT_MS);
  expect([...live.fleet.jobs.keys()]).toEqual(["J1"]);
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

test("alarms are followed only by those who may see them", async () => {
  live.start();
  await soon();
  expect(platform.stream.relations).not.toContain("alarm");
  const other = new Live(platform, { seesAlarms: true });
  other.start();
  await soon();
  expect(platform.stream.relations).toContain("alarm");
  other.stop();
});
