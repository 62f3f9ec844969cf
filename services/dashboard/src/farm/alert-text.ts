/** Alerts in the person's words. A kind that this page does not know yet is shown by its name. */
import { ALERT_KINDS } from "@/lib/i18n/codes";
import type { Dictionary } from "@/lib/i18n/en";
import type { FleetStore } from "@/lib/live/fleet";
import type { AlertRow } from "@/lib/rest/rows";

export function alertTitle(t: Dictionary, kind: string): string {
  const known = ALERT_KINDS.find((one) => one === kind);
  if (known !== undefined) return t.alerts.kinds[known].title;
  const words = kind.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the name of the phone, PC, job or render of an alert. Null: only the alert's message names it. */
export function alertSubject({ devices, pcs, jobs }: FleetStore, { context, subject }: AlertRow): string | null {
  if (context === "render" && /^\d+$/.test(subject)) return `#${subject}`;
  return devices.get(subject)?.serial ?? pcs.get(subject)?.id ?? jobs.get(subject)?.title ?? null;
}

export function alertAdvice(t: Dictionary, kind: string): string | null {
  const known = ALERT_KINDS.find((one) => one === kind);
  return known === undefined ? null : t.alerts.kinds[known].advice;
}
