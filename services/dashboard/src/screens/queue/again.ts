/** A job that has ended, once more: everywhere it was for, or where it failed. It is a new job; the old one stays as it is. */
import type { NewJob } from "@/lib/rest/commands";
import { fieldsOf } from "@/lib/rest/job-fields";
import { rows, type Server } from "@/lib/rest/read";
import type { AssignmentRow, JobRow } from "@/lib/rest/rows";

/** As many as a job can name. */
export const NAMED_MAX = 1_000;

export type Where = "everywhere" | "failed";

export function again(job: JobRow, devices: readonly string[] | null): NewJob {
  const target = devices === null ? job.target : { device_ids: devices };
  return { ...fieldsOf(job), is_active: true, not_before: null, target };
}

/** Phones that it failed on for good. */
export async function failedDevices(server: Server, job: string): Promise<string[]> {
  const query = { select: "device_id", job_id: `eq.${job}`, status: "eq.failed", order: "id", limit: NAMED_MAX };
  const failed = await rows<Pick<AssignmentRow, "device_id">>(server, "job_assignments", query);
  return [...new Set(failed.map((row) => row.device_id))];
}
