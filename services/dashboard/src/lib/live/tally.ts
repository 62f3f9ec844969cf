/** Counts the ends of attempts in each second of the last 15 minutes, for charts, and failures by their cause. */
import type { TaskEventRow } from "../rest/rows";
import { Observable } from "../session/observable";

export const WINDOW_S = 15 * 60;
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
  /** Failures, by their code. */
  causes: Map<string, number>;
  /** The longest way from a commit to this page. */
  delayMs: number;
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

type AttemptEvent = TaskEventRow["event_type"];
export type CountedRow = Pick<
  TaskEventRow,
  "id" | "event_type" | "error_code" | "device_id" | "task_id" | "created_at"
>;

const OUTCOMES: Partial<Record<AttemptEvent, Outcome>> = {
  SUCCEEDED: "completed",
  FAILED: "failed",
  TIMEOUT: "failed",
  ROLLED_BACK: "lost",
};
/** With these a phone is through with its job. */
const ENDS: readonly AttemptEvent[] = ["SUCCEEDED", "FAILED_FINAL"];
export const COUNTED = [...new Set([...Object.keys(OUTCOMES), ...ENDS])] as readonly AttemptEvent[];

export class Tally {
  /** Grows when the past was read: then all that is shown of it is out of date at once. */
  readonly past = new Observable(0);
  readonly #seconds: Second[] = Array.from({ length: WINDOW_S }, () => empty(-1));

  /** One line of the history of attempts. */
  count(row: CountedRow): void {
    const second = this.#at(Date.parse(row.created_at));
    if (second === null) return;
    const outcome = OUTCOMES[row.event_type];
    if (outcome !== undefined) second[outcome]++;
    if (outcome === "failed") add(second.causes, row.error_code ?? row.event_type);
    if (ENDS.includes(row.event_type)) add(second.ends, row.task_id);
  }

  /** The history of attempts is counted anew: what follows is all of it. */
  recount(): void {
    for (const second of this.#seconds) Object.assign(second, { ...empty(second.second), ...timesOf(second) });
  }

  /** All of the past was counted. */
  pastWasRead(): void {
    this.past.set(this.past.get() + 1);
  }

  /** An attempt began, and had been offered before. */
  start(offeredAt: string | null, startedAt: string | null): void {
    if (offeredAt === null || startedAt === null) return;
    const at = Date.parse(startedAt);
    const second = this.#at(at);
    if (second !== null && second.waits.length < WAITS_PER_SECOND_MAX) second.waits.push(at - Date.parse(offeredAt));
  }

  /** How long something took from its commit to this page. */
  delay(committedAt: string, now: number): void {
    const at = Date.parse(committedAt);
    const second = this.#at(at);
    if (second !== null) second.delayMs = Math.max(second.delayMs, now - at);
  }

  /** How many attempts failed since a moment, by their code. */
  causesSince(at: number): Map<string, number> {
    const sum = new Map<string, number>();
    const from = Math.floor(at / 1000);
    for (const { second, causes } of this.#seconds) {
      if (second >= from) for (const [code, times] of causes) add(sum, code, times);
    }
    return sum;
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
  return { second, completed: 0, failed: 0, lost: 0, waits: [], ends: new Map(), causes: new Map(), delayMs: 0 };
}

function add(sums: Map<string, number>, name: string, times = 1): void {
  sums.set(name, (sums.get(name) ?? 0) + times);
}

/** What only this page has measured. */
function timesOf({ waits, delayMs }: Second): Pick<Second, "waits" | "delayMs"> {
  return { waits, delayMs };
}

export function quantile(values: readonly number[], q: number): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? null;
}
