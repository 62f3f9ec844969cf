/** Follows the tail: what was heard since the last look, and whether something was missed in between. */
import type { HeardEvent, Tail } from "./tail";

export class Ear {
  readonly #tail: Tail;
  #heard: number;

  constructor(tail: Tail) {
    this.#tail = tail;
    this.#heard = tail.heard;
  }

  /** In order. Null: more came than the tail keeps, or it began anew. */
  take(): readonly HeardEvent[] | null {
    const news = this.#tail.heard - this.#heard;
    this.#heard = this.#tail.heard;
    if (news === 0) return [];
    return news > this.#tail.events.length ? null : this.#tail.events.slice(-news);
  }
}
