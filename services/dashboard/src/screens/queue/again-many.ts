/** Several jobs that have ended, each once more for the phones where it failed. Each is a new job. */
import type { Refused, Report } from "@/lib/rest/bulk";
import { createJob } from "@/lib/rest/commands";
import type { Server } from "@/lib/rest/read";
import type { JobRow } from "@/lib/rest/rows";
import { ApiError } from "@/lib/session/errors";
import { again, failedDevices } from "./again";

/** So many in one action. */
export const AGAIN_MAX = 50;

/** `nothing`: why a job is left out that failed on no phone. */
export async function againWhereFailed(
  server: Server,
  jobs: readonly JobRow[],
  nothing: string,
  key: string,
): Promise<Report> {
  const refused: Refused[] = [];
  for (const job of jobs) {
    const why = await runAgain(server, job, nothing, `${key}-${job.id}`);
    if (why !== null) refused.push({ item: job.id, why });
  }
  return { done: jobs.length - refused.length, refused };
}

/** Null: there is a new job. */
async function runAgain(server: Server, job: JobRow, nothing: string, key: string): Promise<string | null> {
  const devices = job.failed > 0 ? await failedDevices(server, job.id) : [];
  if (devices.length === 0) return nothing;
  try {
    await createJob(server, again(job, devices), key);
    return null;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500 && error.status !== 401 && error.status !== 429) {
      return error.message;
    }
    throw error;
  }
}
