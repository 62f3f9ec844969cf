/** The last events that were heard, of every context, newest last. Bounded: it is a tail, not the log. */
import { Observable } from "../session/observable";
import type { Frames } from "./frame";

export const TAIL_MAX = 2_000;
/** It is cut when it is this much too long, not at every event. */
const SLACK = 500;

interface Envelope {
  readonly type: string;
  readonly at: string;
  readonly by: string;
  readonly cause: string;
  readonly n: number;
}

export interface HeardEvent {
  /** `fleet=12.3`: where it stands in its log. */
  readonly place: string;
  readonly context: string;
  readonly event: Envelope & Readonly<Record<string, unknown>>;
}

export class Tail {
  /** Grows with every change that was told. */
  readonly version = new Observable(0);
  #events: HeardEvent[] = [];
  #heard = 0;
  readonly #frames: Frames;

  constructor(frames: Frames) {
    this.#frames = frames;
  }

  /** How many there were, also those that it has forgotten. */
  get heard(): number {
    return this.#heard;
  }

  get events(): readonly HeardEvent[] {
    return this.#events;
  }

  /** Those that were heard after so many, as far as it remembers. */
  since(heard: number): readonly HeardEvent[] {
    return this.#heard > heard ? this.#events.slice(heard - this.#heard) : [];
  }

  add(heard: HeardEvent): void {
    this.#events.push(heard);
    this.#heard++;
    if (this.#events.length > TAIL_MAX + SLACK) this.#events = this.#events.slice(-TAIL_MAX);
    this.#frames.request(this.#tell);
  }

  clear(): void {
    this.#events = [];
    this.#frames.request(this.#tell);
  }

  readonly #tell = (): void => this.version.set(this.version.get() + 1);
}
