/** What a client may set on a job, by name: the one list of it here that is there at run time. */
import type { JobFields, JobRow } from "./rows";

/** Of a job of which nothing is known. */
export const UNKNOWN_FIELDS: JobFields = {
  title: null,
  target_url: "",
  script_type: "",
  duration_min_pct: 0,
  duration_max_pct: 0,
  prob_like: 0,
  prob_comment: 0,
  prob_playlist: 0,
  is_active: false,
  base_reward: 0,
  target: null,
};

const NAMES = Object.keys(UNKNOWN_FIELDS) as (keyof JobFields)[];

/** Those of a job, and nothing else of it. */
export function fieldsOf(job: JobRow): JobFields {
  return Object.fromEntries(NAMES.map((name) => [name, job[name]])) as unknown as JobFields;
}
