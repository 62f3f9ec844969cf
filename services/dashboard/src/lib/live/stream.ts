/** The connection to `GET /api/events/stream`: comes back by itself, after the last event that it heard. */
import { debug } from "../debug/debug";
import type { Server } from "../rest/read";
import { ApiError, SessionExpired } from "../session/errors";
import { type ServerEvent, SseParser } from "./sse";

/** The server says something at least this often, twice over and a bit: else the line is dead and nobody told us. */
export const SILENCE_MAX_MS = 35_000;
export const BACKOFF_MS = [500, 1_000, 2_000, 4_000, 8_000] as const;
/** Away for longer, it is quicker to read everything again than to hear all that happened. */
export const RESUME_WITHIN_MS = 60_000;

export interface Listener {
  /** It begins anew, after this id: what was known is to be read again. `minPosition` for these reads. */
  onFresh(id: string, minPosition: string): void;
  /** The next ones are read when these are done with. */
  onEvents(events: readonly ServerEvent[]): void | Promise<void>;
  onOpen(): void;
  /** `null`: nobody may listen with this session. */
  onLost(retryInMs: number | null): void;
}

const log = debug("live:stream");

export class LiveStream {
  readonly #server: Server;
  readonly #listener: Listener;
  #lastId: string | undefined;
  #heardAt = 0;
  #failures = 0;
  #stopping = new AbortController();
  #wake: (() => void) | null = null;
  #isRunning = false;

  constructor(server: Server, listener: Listener) {
    this.#server = server;
    this.#listener = listener;
  }

  /** Until it is stopped, or there is no session any more; then it can be run again. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.#follow();
    } finally {
      this.#isRunning = false;
    }
  }

  async #follow(): Promise<void> {
    const stop = this.#stopping.signal;
    while (!stop.aborted) {
      const goesOn = await this.#connect().catch((error: unknown) => this.#failed(error));
      if (!goesOn || stop.aborted) return;
      const wait = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] ?? 0;
      this.#failures++;
      this.#listener.onLost(wait);
      await this.#sleep(wait);
    }
  }

  /** Does not wait for its turn. */
  retryNow(): void {
    this.#wake?.();
  }

  stop(): void {
    this.#stopping.abort();
    this.#wake?.();
  }

  async #connect(): Promise<boolean> {
    if (Date.now() - this.#heardAt > RESUME_WITHIN_MS) this.#lastId = undefined;
    const line = new AbortController();
    const onStop = () => line.abort();
    this.#stopping.signal.addEventListener("abort", onStop);
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => line.abort(), SILENCE_MAX_MS);
    };
    try {
      alive();
      const headers: HeadersInit = this.#lastId === undefined ? {} : { "Last-Event-ID": this.#lastId };
      const answer = await this.#server.request("/api/events/stream", { headers, signal: line.signal });
      await this.#read(answer, alive);
      return true;
    } finally {
      clearTimeout(watchdog);
      this.#stopping.signal.removeEventListener("abort", onStop);
    }
  }

  async #read(answer: Response, alive: () => void): Promise<void> {
    const parser = new SseParser();
    const reader = answer.body?.getReader();
    if (reader === undefined) return;
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      this.#heardAt = Date.now();
      const isNew = this.#lastId === undefined;
      const events = parser.take(value);
      this.#lastId = parser.lastId ?? this.#lastId;
      await this.#tell(events, isNew);
    }
  }

  async #tell(events: readonly ServerEvent[], isNew: boolean): Promise<void> {
    const hello = events.find((event) => event.name === "hello");
    if (hello !== undefined) {
      this.#failures = 0;
      const { position, min_position } = JSON.parse(hello.data) as { position: string; min_position: string };
      if (isNew) this.#listener.onFresh(position, min_position);
      this.#listener.onOpen();
    }
    const facts = events.filter((event) => event.name !== "hello" && event.name !== "bye");
    if (facts.length > 0) await this.#listener.onEvents(facts);
  }

  /** Whether to try again. */
  #failed(error: unknown): boolean {
    log("lost", error);
    if (error instanceof SessionExpired) return false;
    if (error instanceof ApiError && error.status === 400) this.#lastId = undefined; // it is another log than before
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
      this.#listener.onLost(null);
      return false;
    }
    return true;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#wake = done;
    });
  }
}
