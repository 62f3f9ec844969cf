/** Everything that moves: the stream, the rows it goes on from, and what is counted along the way. */
import { debug } from "../debug/debug";
import type { Server } from "../rest/read";
import { Observable } from "../session/observable";
import { type Assignment, FleetStore } from "./fleet";
import { foldAlerts } from "./fold-alerts";
import { foldFleet } from "./fold-fleet";
import { Frames } from "./frame";
import { loadHistory } from "./history";
import { loadFleet, readStale } from "./load";
import { mover, type Places, parseId } from "./place";
import { inSlices } from "./slices";
import type { ServerEvent } from "./sse";
import { LiveStream } from "./stream";
import { type HeardEvent, Tail } from "./tail";
import { Tally } from "./tally";

/** Between two looks at rows that events made doubtful. */
export const LOOK_AGAIN_MS = 2_000;
/** A page may stay open for weeks. Who looks for an older job reads its row. */
export const ENDED_JOBS_KEPT_MS = 3_600_000;
/** Before a failed read of everything is tried again. */
const LOAD_AGAIN_MS = 2_000;

export type LiveStatus =
  | { readonly phase: "connecting" }
  | { readonly phase: "loading"; readonly devices: number }
  | { readonly phase: "live" }
  /** `since`: when the last event was heard. */
  | { readonly phase: "lost"; readonly since: number; readonly retryAt: number }
  | { readonly phase: "refused" };

/** What screens see of it. The past looks the same, and does not move. */
export type LiveView = Pick<Live, "status" | "frames" | "fleet" | "tail" | "tally" | "retryNow">;

const log = debug("live");

export class Live {
  readonly status = new Observable<LiveStatus>({ phase: "connecting" });
  readonly frames: Frames;
  readonly fleet: FleetStore;
  readonly tail: Tail;
  readonly tally = new Tally();
  readonly #server: Server;
  readonly #stream: LiveStream;
  #places: Places = {};
  /** Events that came while the rows were read. Null: they are applied as they come. */
  #waiting: ServerEvent[] | null = [];
  #loading = new AbortController();
  #isLoaded = false;
  #isStopped = false;
  #lookAgain: ReturnType<typeof setTimeout> | undefined;
  #heardAt = Date.now();

  constructor(server: Server, frames = new Frames()) {
    this.#server = server;
    this.frames = frames;
    this.fleet = new FleetStore(frames);
    this.tail = new Tail(frames);
    this.#stream = new LiveStream(server, {
      onFresh: (id, minPosition) => void this.#load(id, minPosition),
      onOpen: () => this.#show(),
      onEvents: (events) => this.#hear(events),
      onLost: (retryInMs) => this.#lost(retryInMs),
    });
  }

  /** Also after a session that had ended: it goes on where it was. */
  start(): void {
    void this.#stream.run();
    clearTimeout(this.#lookAgain);
    this.#lookAgainLater();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stream.stop();
    this.#loading.abort();
    clearTimeout(this.#lookAgain);
  }

  retryNow(): void {
    this.#stream.retryNow();
  }

  #show(): void {
    this.status.set(this.#isLoaded ? { phase: "live" } : { phase: "loading", devices: this.fleet.devices.size });
  }

  #lost(retryInMs: number | null): void {
    if (retryInMs === null) this.status.set({ phase: "refused" });
    else this.status.set({ phase: "lost", since: this.#heardAt, retryAt: Date.now() + retryInMs });
  }

  async #load(id: string, minPosition: string): Promise<void> {
    this.#loading.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#waiting = [];
    this.#isLoaded = false;
    this.#places = parseId(id);
    this.fleet.clear();
    this.tail.clear();
    try {
      const options = { minPosition, signal: loading.signal };
      await loadFleet(this.#server, this.fleet, options, (devices) => this.status.set({ phase: "loading", devices }));
    } catch (error) {
      if (loading.signal.aborted) return;
      log("could not read the fleet", error);
      setTimeout(() => loading.signal.aborted || void this.#load(id, minPosition), LOAD_AGAIN_MS);
      return;
    }
    // More may come while these are applied: they wait, too.
    for (const waiting = this.#waiting; waiting.length > 0; ) {
      await this.#apply(waiting.splice(0));
      if (loading.signal.aborted) return;
    }
    this.#waiting = null;
    this.#isLoaded = true;
    // What was counted twice in between is put right by the next look.
    for (const id of this.fleet.jobs.keys()) this.fleet.markStale("jobs", id);
    if (this.status.get().phase === "loading") this.status.set({ phase: "live" });
    this.tally.clear();
    await loadHistory(this.#server, this.tally, loading.signal).catch((error: unknown) => log("no history", error));
  }

  /** The stream goes on when they are applied. */
  async #hear(events: readonly ServerEvent[]): Promise<void> {
    this.#heardAt = Date.now();
    if (this.#waiting === null) await this.#apply(events);
    else this.#waiting.push(...events);
  }

  #apply(events: readonly ServerEvent[]): Promise<void> {
    const now = Date.now();
    return inSlices(events, (told) => {
      const heard = this.#read(told);
      this.tail.add(heard);
      if (heard.context === "fleet") {
        this.tally.hear(heard.event, this.#assignmentOf(heard)?.assignedAt ?? null, now);
        foldFleet(this.fleet, heard.event);
      }
      foldAlerts(this.fleet.alerts, heard.context, heard.event);
    });
  }

  #read(told: ServerEvent): HeardEvent {
    const places = parseId(told.id ?? "");
    const context = mover(this.#places, places);
    this.#places = places;
    const event = JSON.parse(told.data) as HeardEvent["event"];
    return { place: `${context}=${places[context] ?? ""}`, context, event };
  }

  #assignmentOf({ event }: HeardEvent): Assignment | undefined {
    const id = event["assignment_id"];
    return typeof id === "string" ? this.fleet.assignments.get(id) : undefined;
  }

  #lookAgainLater(): void {
    this.#lookAgain = setTimeout(async () => {
      if (this.status.get().phase === "live") await this.#look();
      if (!this.#isStopped) this.#lookAgainLater();
    }, LOOK_AGAIN_MS);
  }

  async #look(): Promise<void> {
    this.fleet.forgetJobsEndedBefore(Date.now() - ENDED_JOBS_KEPT_MS);
    const options = { minPosition: this.#minPosition(), signal: this.#loading.signal };
    await readStale(this.#server, this.fleet, options).catch((error: unknown) => log("could not look again", error));
  }

  /** How far this page has heard. */
  #minPosition(): string | undefined {
    const known = Object.entries(this.#places).map(([context, place]) => `${context}=${place.split(".")[0]}`);
    return known.length === 0 ? undefined : known.join(",");
  }
}
