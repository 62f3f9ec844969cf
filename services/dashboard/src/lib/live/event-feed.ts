/** Events as they happen, for as long as somebody looks at them: `GET /api/events/stream`. */
import type { Server } from "../rest/read";
import { Observable } from "../session/observable";
import type { Frames } from "./frame";
import { mover, type Places, parseId } from "./place";
import { inSlices } from "./slices";
import type { ServerEvent } from "./sse";
import { LiveStream } from "./stream";
import { type HeardEvent, Tail } from "./tail";

/** From where on events are heard: what was before is read, as of this position. */
export interface Begin {
  readonly at: number;
  /** Unknown while there is no line. */
  readonly minPosition?: string;
}

export class EventFeed {
  readonly tail: Tail;
  /** Null: not yet. */
  readonly begin = new Observable<Begin | null>(null);
  readonly #stream: LiveStream;
  #places: Places = {};

  constructor(server: Server, frames: Frames) {
    this.tail = new Tail(frames);
    this.#stream = new LiveStream(server, "/api/events/stream", {
      onHello: (data, isFresh) => isFresh && this.#greet(data),
      onEvents: (events) => inSlices(events, (told) => this.tail.add(this.#read(told))),
      // What happens meanwhile is heard when it is back; the banner tells of the line.
      onLost: () => this.begin.get() ?? this.begin.set({ at: Date.now() }),
    });
  }

  start(): void {
    void this.#stream.run();
  }

  stop(): void {
    this.#stream.stop();
  }

  #greet(data: string): void {
    const { position, min_position } = JSON.parse(data) as { position: string; min_position: string };
    this.#places = parseId(position);
    this.tail.clear();
    this.begin.set({ at: Date.now(), minPosition: min_position });
  }

  #read(told: ServerEvent): HeardEvent {
    const places = parseId(told.id ?? "");
    const context = mover(this.#places, places);
    this.#places = places;
    const event = JSON.parse(told.data) as HeardEvent["event"];
    return { place: `${context}=${places[context] ?? ""}`, context, event };
  }
}
