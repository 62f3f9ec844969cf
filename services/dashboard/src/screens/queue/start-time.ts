/** When a job may start, as it is written: on this machine's clock. The server takes up to 30 days ahead. */
import { fromLocalText, localText } from "@/screens/time-machine/scale";

export const AHEAD_MAX_MS = 30 * 24 * 3_600_000;

export type StartFault = "noTime" | "passed" | "tooFar";

/** Null: it is a time that a job can be scheduled for. */
export function startFault(text: string, now: number): StartFault | null {
  const at = fromLocalText(text);
  if (at === null) return "noTime";
  if (at <= now) return "passed";
  return at - now > AHEAD_MAX_MS ? "tooFar" : null;
}

/** As a request has it. */
export function startAt(text: string): string | null {
  const at = fromLocalText(text);
  return at === null ? null : new Date(at).toISOString();
}

/** As a field has it: to the minute. */
export function startText(at: string | number): string {
  return localText(typeof at === "number" ? at : Date.parse(at)).slice(0, 16);
}
