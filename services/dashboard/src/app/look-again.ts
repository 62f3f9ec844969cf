/** Reads again what the server answered before its tables had the newest changes. */

/** The server names the changes that may be missing in an answer. */
const BEHIND_HEADER = "Drover-Behind";
export const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 15_000;

export class LookAgain {
  readonly #readAll: () => Promise<unknown>;
  #waitMs = FIRST_WAIT_MS;
  #isPlanned = false;

  constructor(readAll: () => Promise<unknown>) {
    this.#readAll = readAll;
  }

  hear(answer: Response): void {
    if (!answer.headers.has(BEHIND_HEADER) || this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(() => void this.#look(), this.#waitMs);
  }

  /** Waits longer each time, as long as answers may still miss something. */
  async #look(): Promise<void> {
    this.#isPlanned = false;
    this.#waitMs = Math.min(this.#waitMs * 2, WAIT_MAX_MS);
    await this.#readAll();
    if (!this.#isPlanned) this.#waitMs = FIRST_WAIT_MS;
  }
}
