/** The runs of a phone, put together from the lines of its history. */
import type { AttemptEventType, TaskEventRow } from "@/lib/rest/rows";
import type { Tone } from "@/ui/status";

export type RunEnd = "completed" | "failed" | "lost" | "withdrawn" | null;

export interface Run {
  readonly key: string;
  readonly job: string;
  readonly assignment: string;
  readonly attempt: number;
  readonly run: number;
  /** When it was offered. */
  readonly offeredAt: number;
  /** When it began to run; null: it never did. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Null: it is under way. */
  readonly end: RunEnd;
  readonly isFinal: boolean;
  readonly code: string | null;
  readonly message: string | null;
  readonly screenshot: string | null;
  /** What was on top of what on the phone's screen when it failed. */
  readonly stack: string | null;
}

const ENDS: Partial<Record<AttemptEventType, Exclude<RunEnd, null>>> = {
  SUCCEEDED: "completed",
  FAILED: "failed",
  TIMEOUT: "failed",
  ROLLED_BACK: "lost",
  CANCELLED: "withdrawn",
};

const TONES: Record<Exclude<RunEnd, null>, Tone> = {
  completed: "online",
  failed: "error",
  lost: "held",
  withdrawn: "offline",
};

export function toneOfRun({ end }: Run): Tone {
  return end === null ? "busy" : TONES[end];
}

/** Newest first. `rows` in any order. */
export function runsOf(rows: readonly TaskEventRow[]): Run[] {
  const runs = new Map<string, Run>();
  for (const row of rows.toSorted((a, b) => a.id - b.id)) {
    if (row.event_type === "STALE_REPORT") continue; // it changed nothing
    const key = `${row.task_device_id} ${row.run}`;
    const at = Date.parse(row.created_at);
    const known = runs.get(key);
    const run = known ?? begun(key, row, at);
    runs.set(key, { ...run, ...told(row, run, at) });
  }
  return [...runs.values()].reverse();
}

function begun(key: string, row: TaskEventRow, at: number): Run {
  return {
    key,
    job: row.task_id,
    assignment: row.task_device_id,
    attempt: row.attempt,
    run: row.run,
    offeredAt: at,
    startedAt: null,
    endedAt: null,
    end: null,
    isFinal: false,
    code: null,
    message: null,
    screenshot: null,
    stack: null,
  };
}

function told(row: TaskEventRow, run: Run, at: number): Partial<Run> {
  if (row.event_type === "ACKED") return { startedAt: at };
  if (row.event_type === "FAILED_FINAL") return { isFinal: true, code: run.code ?? row.error_code };
  const end = ENDS[row.event_type];
  if (end === undefined) return {};
  return {
    end,
    endedAt: at,
    code: row.error_code,
    message: row.message,
    screenshot: row.screenshot_ref,
    stack: row.activity_stack,
  };
}
