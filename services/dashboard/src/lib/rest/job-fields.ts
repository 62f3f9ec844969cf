/** What a client may set on a job, by name. The contract says what that is. */
import { NEW_JOB } from "../api/schema";
import type { JobFields, JobRow } from "./rows";

const NAMES = Object.keys(NEW_JOB) as (keyof JobFields)[];

/** Of a job of which nothing is known. */
export const UNKNOWN_FIELDS = of((name) => empty(NEW_JOB[name]));

/** Those of a job, and nothing else of it. */
export function fieldsOf(job: JobRow): JobFields {
  return of((name) => job[name]);
}

function of(value: (name: keyof JobFields) => unknown): JobFields {
  return Object.fromEntries(NAMES.map((name) => [name, value(name)])) as unknown as JobFields;
}

function empty(value: string | number | boolean | null): string | number | boolean | null {
  switch (typeof value) {
    case "string":
      return "";
    case "number":
      return 0;
    case "boolean":
      return false;
    default:
      return null;
  }
}
