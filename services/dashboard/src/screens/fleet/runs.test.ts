/** Lines of a phone's history become runs that can be drawn. EV-05. */
import { expect, test } from "vitest";
import type { AttemptEventType, TaskEventRow } from "@/lib/rest/rows";
import { runsOf } from "./runs";

let id = 0;
const EVIDENCE = { screenshot_ref: "shots/1.png", activity_stack: "YouTube > Popup" };

function line(event_type: AttemptEventType, second: number, more: Partial<TaskEventRow> = {}): TaskEventRow {
  return {
    id: ++id,
    task_id: "J1",
    task_device_id: "A1",
    device_id: "D1",
    pc_id: "PC-01",
    attempt: 1,
    run: 1,
    event_type,
    level: "info",
    error_code: null,
    message: null,
    due_at: null,
    screenshot_ref: null,
    activity_stack: null,
    by: "anon",
    created_at: new Date(second * 1000).toISOString(),
    ...more,
  };
}

test("one that went well", () => {
  const [run] = runsOf([line("CREATED", 1), line("SENT", 2), line("ACKED", 3), line("SUCCEEDED", 20)]);
  expect(run).toMatchObject({ offeredAt: 1000, startedAt: 3000, endedAt: 20_000, end: "completed", isFinal: false });
});

test("one that failed and was retried is two runs, the newer first", () => {
  const again = { run: 2, attempt: 2 };
  const runs = runsOf([
    line("CREATED", 1),
    line("ACKED", 2),
    line("FAILED", 5, { error_code: "APP_CRASH", message: "gone", ...EVIDENCE }),
    line("RETRY_SCHEDULED", 5),
    line("CREATED", 10, again),
    line("ACKED", 11, again),
  ]);
  expect(runs.map((run) => [run.attempt, run.end])).toEqual([
    [2, null],
    [1, "failed"],
  ]);
  expect(runs[1]).toMatchObject({ code: "APP_CRASH", message: "gone", isFinal: false });
  expect(runs[1]).toMatchObject({ screenshot: "shots/1.png", stack: "YouTube > Popup" });
});

test("the last failure is marked as such", () => {
  const [run] = runsOf([line("ACKED", 1), line("TIMEOUT", 5, { error_code: "TIMEOUT" }), line("FAILED_FINAL", 5)]);
  expect(run).toMatchObject({ end: "failed", isFinal: true, code: "TIMEOUT" });
});

test("one that was taken back never began", () => {
  const [run] = runsOf([line("CREATED", 1), line("CANCELLED", 91, { message: "untaken" })]);
  expect(run).toMatchObject({ end: "withdrawn", startedAt: null, message: "untaken" });
});

test("a late report of a run that is over makes no run", () => {
  expect(runsOf([line("STALE_REPORT", 5, { run: 7 })])).toEqual([]);
});

test("rows may come newest first, as they are read", () => {
  const rows = [line("CREATED", 1), line("ACKED", 2), line("ROLLED_BACK", 9)];
  expect(runsOf(rows.toReversed())).toEqual(runsOf(rows));
});
