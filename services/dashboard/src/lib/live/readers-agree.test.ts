/** Whatever is lost, repeated or late, a page ends up with the rows that a fresh read has. DF-23. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Frames } from "./frame";
import { Live } from "./live";
import { FakePlatform } from "./testing";

/** Times: `ROUNDS` changes of a small farm each. */
const SEEDS = Array.from({ length: 25 }, (_, seed) => seed + 1);
const ROUNDS = 120;
const DEVICES = 6;
const JOBS = 3;

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Relation = "devices" | "jobs" | "job_assignments";
type Row = { readonly id: string } & Record<string, unknown>;

const DEVICE = { serial_number: "S", group_id: "G", capabilities: [], error_code: null, held_until: null };
const JOB = { title: "Launch", target: null, needs: [], ended_at: null, status: "active" };
const WORK = { progress_pct: 0, attempt: 1, run: 1, retry_count: 0, sent_at: null, retry_due_at: null };

/** The server: its tables, its stream, and what it does wrong. */
class Farm {
  readonly platform = new FakePlatform();
  readonly #random: (below: number) => number;
  readonly #tables = {
    devices: new Map<string, Row>(),
    jobs: new Map<string, Row>(),
    job_assignments: new Map<string, Row>(),
  };
  #position = 1;

  constructor(random: (below: number) => number) {
    this.#random = random;
    for (let n = 0; n < JOBS; n++) this.#put("jobs", `J${n}`, JOB);
    for (let n = 0; n < DEVICES; n++) this.#put("devices", `D${n}`, { ...DEVICE, pc_id: "PC-1", status: "online" });
    this.#publish();
  }

  get position(): string {
    return `fleet=${this.#position}`;
  }

  /** A row changes, or is gone; then the stream tells of it, or fails to and says so. */
  step(): void {
    this.#position++;
    const relation = this.#one(["devices", "devices", "jobs", "job_assignments", "job_assignments"] as const);
    const [id, row] = this.#change(relation);
    this.#publish();
    const fault = this.#random(12);
    if (fault <= 1) this.platform.stream.reset([relation], this.position);
    if (fault === 0) return; // it was lost
    if (row === null) this.platform.stream.rows(relation, [], [[id]]);
    else this.platform.stream.rows(relation, [row]);
    if (fault === 2 && row !== null) this.platform.stream.rows(relation, [row]); // told twice
  }

  #change(relation: Relation): [string, Row | null] {
    const table = this.#tables[relation];
    const id = `${relation[0]?.toUpperCase()}${this.#random(DEVICES)}`;
    if (relation !== "jobs" && table.has(id) && this.#random(6) === 0) {
      table.delete(id);
      return [id, null];
    }
    return [id, this.#put(relation, id, this.#columnsOf(relation))];
  }

  #columnsOf(relation: string): Record<string, unknown> {
    if (relation === "devices") {
      const status = this.#one(["online", "offline", "busy"]);
      return { ...DEVICE, pc_id: this.#one(["PC-1", "PC-2"]), status };
    }
    if (relation === "jobs") return { ...JOB, completed: this.#random(100) };
    const status = this.#one(["pending", "running", "completed"]);
    const assigned_at = this.#random(2) === 0 ? null : this.#now();
    return { ...WORK, job_id: `J${this.#random(JOBS)}`, device_id: `D${this.#random(DEVICES)}`, status, assigned_at };
  }

  #put(relation: Relation, id: string, columns: Record<string, unknown>): Row {
    const row = { ...columns, id, updated_at: this.#now() };
    this.#tables[relation].set(id, row);
    return row;
  }

  #now(): string {
    return `2026-11-16T09:00:00.${String(this.#position).padStart(6, "0")}Z`;
  }

  #publish(): void {
    const rowsOf = (table: Map<string, Row>) => [...table.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    const work = rowsOf(this.#tables.job_assignments).filter((row) => row["status"] !== "completed");
    this.platform.rows = {
      devices: rowsOf(this.#tables.devices),
      jobs: rowsOf(this.#tables.jobs),
      job_assignments: work,
    };
  }

  #one<T>(of: readonly T[]): T {
    return of[this.#random(of.length)] as T;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime("2026-11-16T09:00:00Z");
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function shownBy({ fleet }: Live): object {
  const sorted = <T>(rows: Iterable<[string, T]>) => Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1)));
  // Of two assignments that hold one phone, which no farm has, the last one counts: it is not part of the comparison.
  const devices = [...fleet.devices.entries()].map(
    ([id, { assignment: _, ...device }]) => [id, device] as [string, object],
  );
  return {
    devices: sorted(devices),
    jobs: sorted(fleet.jobs.entries()),
    assignments: sorted(fleet.assignments.entries()),
    shown: { ...fleet.shown },
    racks: ["PC-1", "PC-2"].map((pc) => fleet.devicesOf(pc).toSorted()),
  };
}

async function opened(farm: Farm): Promise<Live> {
  const live = new Live(farm.platform, { frames: new Frames((flush) => setTimeout(flush, 16)) });
  live.start();
  await vi.advanceTimersByTimeAsync(10);
  farm.platform.stream.hello(farm.position);
  return live;
}

test.each(SEEDS)("seed %i: changes with faults end in what a fresh read shows", async (seed) => {
  const random = randomOf(seed);
  vi.spyOn(Math, "random").mockImplementation(() => random(1_000) / 1_000);
  const farm = new Farm(random);
  const json = farm.platform.json.bind(farm.platform);
  vi.spyOn(farm.platform, "json").mockImplementation(async <T>(path: string, init?: RequestInit) => {
    const found = await json<T>(path, init);
    await new Promise((resolve) => setTimeout(resolve, random(200))); // rows change while the answer is on its way
    if (random(10) === 0) throw new Error("away");
    return found;
  });
  const live = await opened(farm);
  for (let round = 0; round < ROUNDS; round++) {
    farm.step();
    await vi.advanceTimersByTimeAsync(random(80));
    if (random(30) > 0) continue;
    // The line breaks, and what happens meanwhile is told by a reset.
    farm.platform.stream.break();
    await vi.advanceTimersByTimeAsync(600);
    farm.platform.stream.hello(farm.position);
    farm.platform.stream.reset(["devices", "jobs", "job_assignments"], farm.position);
  }
  await vi.advanceTimersByTimeAsync(30_000);
  vi.mocked(farm.platform.json).mockImplementation(json);
  const fresh = await opened(farm);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(shownBy(live)).toEqual(shownBy(fresh));
  expect(live.status.get()).toEqual({ phase: "live" });
  live.stop();
  fresh.stop();
});
