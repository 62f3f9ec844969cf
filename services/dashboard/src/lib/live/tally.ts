/** What happened each second of the last quarter of an hour, for charts; and the last failures, for people. */
import { Observable } from "../session/observable";
import type { Envelope, FleetEvents } from "./events";

export const WINDOW_S = 15 * 60;
const FAILURES_MAX = 500;
/** Waits that are kept of one second: enough for its median. */
const WAITS_PER_SECOND_MAX = 50;

interface Second {
  second: number;
  completed: number;
  failed: number;
  lost: number;
  /** From the offer to the start, in milliseconds. */
  waits: number[];
  /** Phones that were through with a job, well or not, by job. */
  ends: Map<string, number>;
  /** The longest way from a commit to this page. */
  delayMs: number;
}

export interface Failure {
  readonly at: string;
  readonly code: string;
  readonly device: string;
  readonly job: string;
}

/** Columns of a chart; the times are seconds since 1970, each the begin of its step. */
export interface Series {
  readonly times: readonly number[];
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  readonly lost: readonly number[];
  readonly waitP50: readonly (number | null)[];
  readonly waitP95: readonly (number | null)[];
  readonly delay: readonly (number | null)[];
}

export type Outcome = "completed" | "failed" | "lost";

export class Tally {
  /** Grows when the past was read: then all that is shown of it is out of date at once. */
  readonly past = new Observable(0);
  readonly #seconds: Second[] = Array.from({ length: WINDOW_S }, () => empty(-1));
  #failures: Failure[] = [];

  /** `offeredAt`: of the assignment that it is about. */
  hear(event: Envelope, offeredAt: string | null, now: number): void {
    const at = Date.parse(event.at);
    const second = this.#at(at);
    if (second === null) return;
    second.delayMs = Math.max(second.delayMs, now - at);
    switch (event.type) {
      case "AttemptSucceeded":
        second.completed++;
        addEnd(second, (event as FleetEvents["AttemptSucceeded"]).job_id);
        break;
      case "AttemptFailedFinal":
        addEnd(second, (event as FleetEvents["AttemptFailedFinal"]).job_id);
        break;
      case "AttemptFailed":
        second.failed++;
        this.#fail(event as FleetEvents["AttemptFailed"], (event as FleetEvents["AttemptFailed"]).code);
        break;
      case "AttemptTimedOut":
        second.failed++;
        this.#fail(event as FleetEvents["AttemptTimedOut"], "TIMEOUT");
        break;
      case "AttemptRolledBack":
        second.lost++;
        break;
      case "AttemptStarted":
        if (offeredAt !== null && second.waits.length < WAITS_PER_SECOND_MAX) {
          second.waits.push(at - Date.parse(offeredAt));
        }
        break;
    }
  }

  /** What the history tells of the time before this page listened. */
  addPast(at: string, outcome: Outcome): void {
    const second = this.#at(Date.parse(at));
    if (second !== null) second[outcome]++;
  }

  addPastEnd(at: string, job: string): void {
    const second = this.#at(Date.parse(at));
    if (second !== null) addEnd(second, job);
  }

  addPastFailures(failures: readonly Failure[]): void {
    const all = [...this.#failures, ...failures].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    this.#failures = all.slice(-FAILURES_MAX);
    this.past.set(this.past.get() + 1);
  }

  /** The last ones first. */
  failuresSince(at: number): Failure[] {
    return this.#failures.filter((failure) => Date.parse(failure.at) >= at).reverse();
  }

  /** Counts since a moment. */
  sumSince(at: number): Record<Outcome, number> {
    const sum = { completed: 0, failed: 0, lost: 0 };
    const from = Math.floor(at / 1000);
    for (const second of this.#seconds) {
      if (second.second < from) continue;
      sum.completed += second.completed;
      sum.failed += second.failed;
      sum.lost += second.lost;
    }
    return sum;
  }

  /** Phones that were through with this job, in the seconds that began since a moment. */
  endsSince(job: string, at: number): number {
    const from = Math.ceil(at / 1000);
    return this.#seconds.reduce((sum, { second, ends }) => (second < from ? sum : sum + (ends.get(job) ?? 0)), 0);
  }

  series(now: number, stepS: number): Series {
    // The step that is under way is left out: its column would grow from nothing each time.
    const end = Math.floor(now / 1000 / stepS) * stepS;
    const steps = Math.floor(WINDOW_S / stepS) - 1;
    const times = Array.from({ length: steps }, (_, index) => end - (steps - index) * stepS);
    const columns = times.map((time) => this.#step(time, stepS));
    return {
      times,
      completed: columns.map((column) => column.completed),
      failed: columns.map((column) => column.failed),
      lost: columns.map((column) => column.lost),
      waitP50: columns.map((column) => quantile(column.waits, 0.5)),
      waitP95: columns.map((column) => quantile(column.waits, 0.95)),
      delay: columns.map((column) => (column.delayMs === 0 ? null : column.delayMs)),
    };
  }

  clear(): void {
    for (const second of this.#seconds) Object.assign(second, empty(-1));
    this.#failures = [];
  }

  #fail(event: FleetEvents["AttemptTimedOut"] | FleetEvents["AttemptFailed"], code: string): void {
    this.#failures.push({ at: event.at, code, device: event.device_id, job: event.job_id });
    if (this.#failures.length > FAILURES_MAX) this.#failures.shift();
  }

  /** Null: it is too long ago. */
  #at(ms: number): Second | null {
    const number = Math.floor(ms / 1000);
    const second = this.#seconds[((number % WINDOW_S) + WINDOW_S) % WINDOW_S];
    if (second === undefined || second.second > number) return null;
    if (second.second < number) Object.assign(second, empty(number));
    return second;
  }

  #step(from: number, stepS: number): Second {
    const sum = empty(from);
    for (let number = from; number < from + stepS; number++) {
      const second = this.#seconds[number % WINDOW_S];
      if (second?.second !== number) continue;
      sum.completed += second.completed;
      sum.failed += second.failed;
      sum.lost += second.lost;
      sum.waits.push(...second.waits);
      sum.delayMs = Math.max(sum.delayMs, second.delayMs);
    }
    return sum;
  }
}

function empty(second: number): Second {
  return { second, completed: 0, failed: 0, lost: 0, waits: [], ends: new Map(), delayMs: 0 };
}

function addEnd({ ends }: Second, job: string): void {
  ends.set(job, (ends.get(job) ?? 0) + 1);
}

export function quantile(values: readonly number[], q: number): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? null;
}
