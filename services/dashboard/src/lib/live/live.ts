/** Everything that moves: the stream of changed rows, the rows that are kept, and what is counted along the way. */
import { debug } from "../debug/debug";
import type { ReadOptions, Server } from "../rest/read";
import { Observable } from "../session/observable";
import { FleetStore } from "./fleet";
import { Followed } from "./followed";
import { Frames } from "./frame";
import { Overlay } from "./overlay";
import { alertSink, assignmentSink, attemptSink, deviceSink, jobSink, pcSink } from "./sinks";
import type { ServerEvent } from "./sse";
import { LiveStream } from "./stream";
import { Tally } from "./tally";
import { mergePositions, type RowsHello, type RowsLag, type RowsReset, type RowsTold } from "./told";

/** A page may stay open for weeks. Who looks for an older job reads its row. */
export const ENDED_JOBS_KEPT_MS = 3_600_000;
const FORGET_EVERY_MS = 60_000;
/** Between two reads of what the stream could not tell, and after one that failed. */
export const READ_EVERY_MS = 2_000;
/** Pages that are told to read at the same moment do not ask at the same moment. */
export const SPREAD_MS = 1_000;

/** Of which screens read pages; what is told of them is laid over. */
export const LISTED = {
  jobs: ["id"],
  alerts: ["context", "id"],
  render_queue: ["id"],
  aep_compositions: ["id"],
  aep_field_mapping: ["id"],
  saju_tests: ["id"],
  cleanup_runs: ["id"],
  test_ledger: ["id"],
  alarms_event: ["id"],
} as const;
export type Listed = keyof typeof LISTED | "alarm";

/** Users' own words: not everybody may follow them. */
const ALARM = { alarm: ["user_id", "page_id"] } as const;

export type LiveStatus =
  | { readonly phase: "connecting" }
  | { readonly phase: "loading"; readonly devices: number }
  | { readonly phase: "live" }
  /** `since`: when something was heard last. */
  | { readonly phase: "lost"; readonly since: number; readonly retryAt: number }
  | { readonly phase: "refused" };

/** What screens see of it. The past looks the same, and does not move. */
export type LiveView = Pick<Live, "status" | "stale" | "frames" | "fleet" | "tally" | "retryNow" | "overlay">;

const log = debug("live");

export class Live {
  readonly status = new Observable<LiveStatus>({ phase: "connecting" });
  /** Contexts whose read model does not move: what is shown of them is the last that was known. */
  readonly stale = new Observable<ReadonlySet<string>>(new Set());
  readonly frames: Frames;
  readonly fleet: FleetStore;
  readonly tally = new Tally();
  readonly #stream: LiveStream;
  readonly #followed: ReadonlyMap<string, Followed>;
  readonly #overlays: ReadonlyMap<string, Overlay>;
  /** Relations to be read, each from its position on. */
  readonly #due = new Map<string, string>();
  readonly #stopping = new AbortController();
  #isReading = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #isLoaded = false;
  #forgetting: ReturnType<typeof setInterval> | undefined;
  #heardAt = Date.now();

  constructor(server: Server, { frames = new Frames(), seesAlarms = false } = {}) {
    this.frames = frames;
    this.fleet = new FleetStore(frames);
    const telling = (devices: number) => this.#isLoaded || this.status.set({ phase: "loading", devices });
    this.#followed = new Map([
      ["alerts", new Followed(alertSink(server, this.fleet), ["context", "id"])],
      ["workers", new Followed(pcSink(server, this.fleet))],
      ["devices", new Followed(deviceSink(server, this.fleet, telling))],
      ["jobs", new Followed(jobSink(server, this.fleet))],
      ["job_assignments", new Followed(assignmentSink(server, this.fleet, this.tally))],
      ["tasks_event", new Followed(attemptSink(server, this.tally))],
    ]);
    const listed = Object.entries({ ...LISTED, ...(seesAlarms ? ALARM : {}) });
    this.#overlays = new Map(listed.map(([name, key]) => [name, new Overlay(frames, key)]));
    const relations = new Set([...this.#followed.keys(), ...this.#overlays.keys()]);
    this.#stream = new LiveStream(server, `/api/stream?relations=${[...relations].join(",")}`, {
      onHello: (data, isFresh) => this.#greet(JSON.parse(data) as RowsHello, isFresh),
      onEvents: (events) => this.#hear(events),
      onLost: (retryInMs) => this.#lost(retryInMs),
    });
  }

  /** Also after a session that had ended: it goes on where it was. */
  start(): void {
    void this.#stream.run();
    clearInterval(this.#forgetting);
    const forget = () => this.fleet.forgetJobsEndedBefore(Date.now() - ENDED_JOBS_KEPT_MS);
    this.#forgetting = setInterval(forget, FORGET_EVERY_MS);
  }

  stop(): void {
    this.#stream.stop();
    this.#stopping.abort();
    clearInterval(this.#forgetting);
  }

  retryNow(): void {
    this.#stream.retryNow();
  }

  /** What was told of a relation of which screens read pages. */
  overlay(relation: Listed): Overlay | undefined {
    return this.#overlays.get(relation);
  }

  #greet(hello: RowsHello, isFresh: boolean): void {
    this.#heardAt = Date.now();
    this.status.set(this.#isLoaded ? { phase: "live" } : { phase: "loading", devices: this.fleet.devices.size });
    this.stale.set(new Set()); // who comes back is told again
    if (isFresh) void this.#readAgain(Object.keys(hello.relations), hello.min_position);
  }

  #lost(retryInMs: number | null): void {
    if (retryInMs === null) this.status.set({ phase: "refused" });
    else this.status.set({ phase: "lost", since: this.#heardAt, retryAt: Date.now() + retryInMs });
  }

  /** The stream goes on when they are applied. */
  async #hear(events: readonly ServerEvent[]): Promise<void> {
    this.#heardAt = Date.now();
    for (const { name, data } of events) {
      if (name === "rows") await this.#told(JSON.parse(data) as RowsTold);
      else if (name === "reset") this.#reset(JSON.parse(data) as RowsReset);
      else if (name === "lag") this.#lag(JSON.parse(data) as RowsLag);
    }
  }

  async #told(told: RowsTold): Promise<void> {
    this.#overlays.get(told.relation)?.add(told);
    await this.#followed.get(told.relation)?.told(told);
  }

  #reset({ relations, min_position }: RowsReset): void {
    void this.#readAgain(relations, min_position);
  }

  #lag({ context, stale }: RowsLag): void {
    const contexts = new Set(this.stale.get());
    if (stale) contexts.add(context);
    else contexts.delete(context);
    this.stale.set(contexts);
  }

  /** What is told to be read during a read is read after it: so each read ends, however often it is told. */
  async #readAgain(relations: readonly string[], minPosition: string): Promise<void> {
    for (const name of relations) {
      this.#overlays.get(name)?.reset();
      if (this.#followed.has(name)) this.#want(name, mergePositions(this.#due.get(name), minPosition));
    }
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#due.size > 0 && !this.#stopping.signal.aborted) {
      await this.#pace();
      if (!this.#stopping.signal.aborted) await this.#readDue();
    }
    this.#isReading = false;
  }

  async #readDue(): Promise<void> {
    const due = new Map(this.#due);
    this.#due.clear();
    // Work is read by its job.
    const work = due.get("job_assignments");
    const first = [...due].filter(([name]) => name !== "job_assignments");
    const areRead = await Promise.all(first.map(([name, position]) => this.#read(name, position)));
    if (work !== undefined && !(await this.#read("job_assignments", work))) return;
    if (this.#isLoaded || areRead.includes(false)) return;
    this.#isLoaded = true;
    if (this.status.get().phase === "loading") this.status.set({ phase: "live" });
  }

  /** False: it is to be read once more. */
  async #read(name: string, minPosition: string): Promise<boolean> {
    const options: ReadOptions = { minPosition, signal: this.#stopping.signal };
    try {
      await this.#followed.get(name)?.read(options);
      return true;
    } catch (error) {
      log(`could not read ${name}`, error);
      if (!this.#due.has(name)) this.#want(name, minPosition);
      return false;
    }
  }

  #want(name: string, minPosition: string): void {
    this.#due.set(name, minPosition);
    this.#followed.get(name)?.hold();
  }

  /** The first read is at once. */
  async #pace(): Promise<void> {
    const isFirst = this.#readAt === Number.NEGATIVE_INFINITY;
    const wait = isFirst ? 0 : Math.max(0, this.#readAt + READ_EVERY_MS - Date.now()) + Math.random() * SPREAD_MS;
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    this.#readAt = Date.now();
  }
}
