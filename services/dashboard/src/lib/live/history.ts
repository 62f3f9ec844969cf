/** What attempts came to in the last quarter of an hour, so that charts do not begin empty. */
import { type ReadOptions, rows, type Server } from "../rest/read";
import { COUNTED, type CountedRow, type Tally, WINDOW_S } from "./tally";

/** The maximum for each kind. A big farm has more in 15 minutes; its rates then come from the server's minutes. */
const PAGES_MAX = 5;
const PAGE = 1000;
/**
 * Read apart. Thousands of phones that succeed would leave no room for the failures among them, and what attempts failed
 * with is told by nothing else.
 */
const GOOD = ["SUCCEEDED"] as const;
const BAD = COUNTED.filter((type) => !GOOD.some((good) => good === type));

/** Oldest first. `until`: of the past; else up to now. */
export async function readHistory(server: Server, options: ReadOptions, until?: number): Promise<CountedRow[]> {
  const found = [...(await readKinds(server, BAD, options, until)), ...(await readKinds(server, GOOD, options, until))];
  return found.sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
}

async function readKinds(
  server: Server,
  types: readonly string[],
  options: ReadOptions,
  until: number | undefined,
): Promise<CountedRow[]> {
  const from = new Date((until ?? Date.now()) - WINDOW_S * 1000).toISOString();
  const select = "id,event_type,error_code,device_id,task_id,created_at";
  const event_type = `in.(${types.join(",")})`;
  const found: CountedRow[] = [];
  let before = until === undefined ? "" : `,created_at.lt.${new Date(until).toISOString()}`;
  for (let page = 0; page < PAGES_MAX; page++) {
    const and = `(created_at.gte.${from}${before})`;
    const query = { select, event_type, and, order: "created_at.desc", limit: PAGE };
    const past = await rows<CountedRow>(server, "tasks_event", query, options);
    found.push(...past);
    const oldest = past.at(-1);
    if (oldest === undefined || past.length < PAGE) break;
    before = `,created_at.lt.${oldest.created_at}`;
  }
  return found;
}

/** Counts what was before a moment of the past. */
export async function loadPast(server: Server, tally: Tally, signal: AbortSignal, until: number): Promise<void> {
  for (const row of await readHistory(server, { signal }, until)) tally.count(row);
  tally.pastWasRead();
}
