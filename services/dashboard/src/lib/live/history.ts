/** The quarter of an hour before this page listened, so that its charts do not begin empty. */
import { rows, type Server } from "../rest/read";
import type { TaskEventRow } from "../rest/rows";
import { type Failure, type Outcome, type Tally, WINDOW_S } from "./tally";

/** On a big farm this is less than a quarter of an hour: then charts begin where it ends. */
const PAGES_MAX = 5;
const PAGE = 1000;

const OUTCOMES: Partial<Record<TaskEventRow["event_type"], Outcome>> = {
  SUCCEEDED: "completed",
  FAILED: "failed",
  TIMEOUT: "failed",
  ROLLED_BACK: "lost",
};

/** With these a phone is through with its job. */
const ENDS: readonly TaskEventRow["event_type"][] = ["SUCCEEDED", "FAILED_FINAL"];
const READ = [...new Set([...Object.keys(OUTCOMES), ...ENDS])];

type Past = Pick<TaskEventRow, "id" | "event_type" | "error_code" | "device_id" | "task_id" | "created_at">;

/** `began`: when the page began to listen. */
export async function loadHistory(
  server: Server,
  tally: Tally,
  signal: AbortSignal,
  began = Date.now(),
): Promise<void> {
  const from = new Date(began - WINDOW_S * 1000).toISOString();
  const select = "id,event_type,error_code,device_id,task_id,created_at";
  const types = `in.(${READ.join(",")})`;
  let until = new Date(began).toISOString();
  for (let page = 0; page < PAGES_MAX; page++) {
    const created = `(created_at.gte.${from},created_at.lt.${until})`;
    const query = { select, event_type: types, and: created, order: "created_at.desc", limit: PAGE };
    const past = await rows<Past>(server, "tasks_event", query, { signal });
    for (const row of past) {
      const outcome = OUTCOMES[row.event_type];
      if (outcome !== undefined) tally.addPast(row.created_at, outcome);
      if (ENDS.includes(row.event_type)) tally.addPastEnd(row.created_at, row.task_id);
    }
    tally.addPastFailures(past.filter((row) => OUTCOMES[row.event_type] === "failed").map(failureOf));
    const oldest = past.at(-1);
    if (oldest === undefined || past.length < PAGE) return;
    until = oldest.created_at;
  }
}

function failureOf(row: Past): Failure {
  return { at: row.created_at, code: row.error_code ?? row.event_type, device: row.device_id, job: row.task_id };
}
