/** Tabs of one browser for tests: a lock that is taken in turn, and messages that reach all the others. */
import type { TabMessage, Tabs } from "../tabs";

export class FakeBrowser {
  readonly #listeners = new Map<number, Set<(message: TabMessage) => void>>();
  #turn: Promise<unknown> = Promise.resolve();
  #opened = 0;

  openTab(): Tabs {
    const tab = ++this.#opened;
    const own = new Set<(message: TabMessage) => void>();
    this.#listeners.set(tab, own);
    return {
      lagMs: 0,
      exclusively: (work) => {
        const done = this.#turn.then(work);
        this.#turn = done.catch(() => undefined);
        return done;
      },
      tell: (message) => {
        const copy = structuredClone(message);
        for (const [other, listeners] of this.#listeners) {
          if (other !== tab) for (const listener of listeners) listener(copy);
        }
      },
      listen: (listener) => {
        own.add(listener);
        return () => own.delete(listener);
      },
    };
  }
}
