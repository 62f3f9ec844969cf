/** What people can do, as calls. Each has its own key, so that a repeat is the same command and not a second one. */
import { randomKey } from "./key";
import type { Server } from "./read";
import type { JobFields, JobRow } from "./rows";

export type NewJob = JobFields;

/** As a PATCH of `jobs` has them. */
export type JobChange = "paused" | "active" | "cancelled";

/** Rows in one PATCH. */
export const PATCH_ROWS_MAX = 100;

export function createJob(server: Server, job: NewJob, key = randomKey()): Promise<JobRow> {
  return create<JobRow>(server, "jobs", job, key);
}

export function changeJobs(server: Server, ids: readonly string[], status: JobChange, key = randomKey()) {
  return patch(server, "jobs", ids, { status }, key);
}

/** Before all others that wait. */
export function runJobNext(server: Server, id: string, key = randomKey()) {
  return patch(server, "jobs", [id], { run_next: true }, key);
}

export function prioritizeJob(server: Server, id: string, priority: number, key = randomKey()) {
  return patch(server, "jobs", [id], { priority }, key);
}

/** Null: it may start at once. */
export function scheduleJob(server: Server, id: string, not_before: string | null, key = randomKey()) {
  return patch(server, "jobs", [id], { not_before }, key);
}

export function cancelAssignments(server: Server, ids: readonly string[], key = randomKey()) {
  return patch(server, "job_assignments", ids, { status: "cancelled" }, key);
}

/** A failed one with attempts left, by naming its phone for the job once more: it is taken up again. */
export function retryAssignment(server: Server, job_id: string, device_id: string, key = randomKey()) {
  return server.request("/rest/v1/job_assignments", withBody("POST", { job_id, device_id }, key));
}

export function resetDevices(server: Server, ids: readonly string[], key = randomKey()) {
  return patch(server, "devices", ids, { error: null }, key);
}

export function setCapacity(server: Server, pcId: string, capacity: number, key = randomKey()) {
  return patch(server, "pcs", [pcId], { capacity }, key);
}

/** Some at a time; each part has a key of its own that follows from the one of all. */
export async function patch(server: Server, relation: string, ids: readonly string[], body: object, key: string) {
  for (let from = 0; from < ids.length; from += PATCH_ROWS_MAX) {
    const part = ids.slice(from, from + PATCH_ROWS_MAX).map(encodeURIComponent);
    const path = `/rest/v1/${relation}?id=in.(${part.join(",")})`;
    await server.request(path, withBody("PATCH", body, `${key}-${from}`));
  }
}

export async function create<Row>(server: Server, relation: string, body: object, key: string): Promise<Row> {
  const { headers, ...init } = withBody("POST", body, key);
  const asked = { ...init, headers: { ...headers, Prefer: "return=representation" } };
  const [row] = await server.json<Row[]>(`/rest/v1/${relation}`, asked);
  if (row === undefined) throw new Error("The answer has no row");
  return row;
}

/** A request that sends JSON. `key`: with which a repeat is the same command. */
export function withBody(method: "POST" | "PATCH", body: object, key?: string) {
  const headers = { "Content-Type": "application/json", ...(key === undefined ? {} : { "Idempotency-Key": key }) };
  return { method, headers, body: JSON.stringify(body) };
}
