/** What needs a person now, of every context: the newest first. */
import { useLive } from "@/app/context";
import { useTable } from "@/lib/live/hooks";
import { newestFirst } from "@/lib/live/overlay";
import type { AlertRow } from "@/lib/rest/rows";

const EVERY_MS = 200;
export const byRaised = newestFirst((alert: AlertRow) => alert.raised_at);

export function useOpenAlerts(): readonly AlertRow[] {
  const { fleet } = useLive();
  useTable(fleet.alerts, EVERY_MS);
  return [...fleet.alerts.values()].sort(byRaised);
}
