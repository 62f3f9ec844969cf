/** A connection to a stream of the server: comes back by itself, after the last event that it heard. */
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
  /** It is there. `isFresh`: it begins anew, so that what was known is to be read again. */
  onHello(data: string, isFresh: boolean): void;
  /** The next ones are read when these are done with. */
  onEvents(events: readonly ServerEvent[]): void | Promise<void>;
  /** `null`: nobody may listen with this session. */
  onLost(retryInMs: number | null): void;
}

const log = debug("live:stream");

export class LiveStream {
  readonly #server: Server;
  readonly #path: string;
  readonly #listener: Listener;
  /** Empty: there is nothing to come back to. */
  #lastId = "";
  #heardAt = 0;
  #failures = 0;
  #stopping = new AbortController();
  #wake: (() => void) | null = null;
  #isRunning = false;

  constructor(server: Server, path: string, listener: Listener) {
    this.#server = server;
    this.#path = path;
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
    if (Date.now() - this.#heardAt > RESUME_WITHIN_MS) this.#lastId = "";
    const isFresh = this.#lastId === "";
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
      const headers: HeadersInit = isFresh ? {} : { "Last-Event-ID": this.#lastId };
      const answer = await this.#server.request(this.#path, { headers, signal: line.signal });
      await this.#read(answer, isFresh, alive);
      return true;
    } finally {
      clearTimeout(watchdog);
      this.#stopping.signal.removeEventListener("abort", onStop);
    }
  }

  async #read(answer: Response, isFresh: boolean, alive: () => void): Promise<void> {
    const parser = new SseParser();
    const reader = answer.body?.getReader();
    if (reader === undefined) return;
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      this.#heardAt = Date.now();
      const events = parser.take(value);
      await this.#tell(events, isFresh);
      this.#lastId = parser.lastId ?? this.#lastId;
    }
  }

  async #tell(events: readonly ServerEvent[], isFresh: boolean): Promise<void> {
    const hello = events.find((event) => event.name === "hello");
    if (hello !== undefined) {
      this.#failures = 0;
      this.#listener.onHello(hello.data, isFresh);
    }
    const facts = events.filter((event) => event.name !== "hello" && event.name !== "bye");
    if (facts.length > 0) await this.#listener.onEvents(facts);
  }

  /** Whether to try again. */
  #failed(error: unknown): boolean {
    log("lost", error);
    if (error instanceof SessionExpired) return false;
    if (error instanceof ApiError && error.status === 400) this.#lastId = ""; // it is another log than before
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
