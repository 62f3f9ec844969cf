/** The time, for what must be drawn anew as it passes. One timer for all who want the same beat. */
import { createContext, use, useSyncExternalStore } from "react";

class Beat {
  now = Date.now();
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #everyMs: number;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  readonly get = (): number => this.now;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#timer === undefined) this.now = Date.now(); // it stood still while nobody looked
    this.#timer ??= setInterval(() => {
      this.now = Date.now();
      for (const one of this.#listeners) one();
    }, this.#everyMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  };
}

const beats = new Map<number, Beat>();

/** Where the page shows the past, its clock stands still at that moment. */
export const StoppedClock = createContext<number | null>(null);

const STILL = () => () => {};

export function useNow(everyMs = 1_000): number {
  const stopped = use(StoppedClock);
  const beat = beatOf(everyMs);
  const now = useSyncExternalStore(stopped === null ? beat.subscribe : STILL, beat.get);
  return stopped ?? now;
}

/** The time that it is, also while the page shows the past. */
export function useRealNow(everyMs = 1_000): number {
  const beat = beatOf(everyMs);
  return useSyncExternalStore(beat.subscribe, beat.get);
}

function beatOf(everyMs: number): Beat {
  const beat = beats.get(everyMs) ?? new Beat(everyMs);
  beats.set(everyMs, beat);
  return beat;
}
