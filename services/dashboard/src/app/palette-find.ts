/** What of the farm a few letters may mean. */
import type { Dictionary } from "@/lib/i18n/en";
import { type FleetStore, shownAs } from "@/lib/live/fleet";

export interface Found {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
}

/** Of each kind. */
const FOUND_MAX = 6;

export function find(fleet: FleetStore, text: string, t: Dictionary): Record<"devices" | "pcs" | "jobs", Found[]> {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return { devices: [], pcs: [], jobs: [] };
  const has = (value: string | null) => value?.toLowerCase().includes(wanted) ?? false;
  return {
    devices: first(fleet.devices.values(), (device) => has(device.serial) || device.id === wanted).map((device) => ({
      id: device.id,
      label: device.serial,
      detail: `${device.pc} · ${t.shown[shownAs(device)]}`,
    })),
    pcs: first(fleet.pcs.values(), (pc) => has(pc.id)).map((pc) => ({
      id: pc.id,
      label: pc.id,
      detail: t.fleet.phones(fleet.devicesOf(pc.id).length),
    })),
    jobs: first(fleet.jobs.values(), (job) => has(job.title) || has(job.target_url) || job.id === wanted).map(
      (job) => ({
        id: job.id,
        label: job.title ?? t.queue.untitled,
        detail: t.jobStatus[job.status],
      }),
    ),
  };
}

function first<T>(values: Iterable<T>, isWanted: (value: T) => boolean): T[] {
  const found: T[] = [];
  for (const value of values) {
    if (!isWanted(value)) continue;
    found.push(value);
    if (found.length === FOUND_MAX) break;
  }
  return found;
}
