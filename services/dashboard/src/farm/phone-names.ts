/** Phones by the names that people write: serial numbers or ids, with spaces, commas or lines between them. */
import type { FleetStore } from "@/lib/live/fleet";

/** Each once, in the order in which they were written. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ""))];
}

export interface FoundPhones {
  readonly ids: readonly string[];
  /** Names of no phone that is registered. */
  readonly unknown: readonly string[];
}

export function findPhones(fleet: FleetStore, text: string): FoundPhones {
  const bySerial = new Map([...fleet.devices.values()].map((device) => [device.serial, device.id]));
  const ids = new Set<string>();
  const unknown: string[] = [];
  for (const name of namesIn(text)) {
    const id = bySerial.get(name.toUpperCase()) ?? fleet.devices.get(name.toLowerCase())?.id;
    if (id === undefined) unknown.push(name);
    else ids.add(id);
  }
  return { ids: [...ids], unknown };
}
