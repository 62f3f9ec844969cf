/** Tells of changes once a frame, however many there were. A page in the background is told now and then. */

/** A hidden page has no frames. */
const HIDDEN_EVERY_MS = 1_000;

export class Frames {
  readonly #due = new Set<() => void>();
  #isScheduled = false;
  readonly #schedule: (flush: () => void) => void;

  constructor(schedule: (flush: () => void) => void = nextFrame) {
    this.#schedule = schedule;
  }

  /** Runs it in the next frame, once. */
  request(work: () => void): void {
    this.#due.add(work);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const due = [...this.#due];
    this.#due.clear();
    for (const work of due) work();
  }
}

function nextFrame(flush: () => void): void {
  if (document.visibilityState === "hidden") setTimeout(flush, HIDDEN_EVERY_MS);
  else requestAnimationFrame(flush);
}
