/** Which racks are shown and in which order, and which of their phones are meant. */
import { type Device, type FleetStore, type Shown, shownAs } from "@/lib/live/fleet";
import type { Sort } from "./search";

export interface Wish {
  /** Lower case. */
  readonly text: string;
  /** Empty: all. */
  readonly shown: ReadonlySet<Shown>;
  readonly sort: Sort;
}

export interface Selection {
  readonly pcs: readonly string[];
  readonly devices: number;
}

export function isMeant(device: Device, wish: Wish): boolean {
  if (wish.shown.size > 0 && !wish.shown.has(shownAs(device))) return false;
  return wish.text === "" || matches(device, wish.text);
}

export function select(fleet: FleetStore, wish: Wish): Selection {
  const isNarrow = wish.text !== "" || wish.shown.size > 0;
  const found: { pc: string; rank: number }[] = [];
  let devices = 0;
  for (const pc of fleet.pcs.keys()) {
    const own = fleet.devicesOf(pc);
    let meant = 0;
    let rank = 0;
    for (const id of own) {
      const device = fleet.devices.get(id);
      if (device === undefined) continue;
      rank += rankOf(device, wish.sort);
      if (!isNarrow || isMeant(device, wish)) meant++;
    }
    if (isNarrow && meant === 0) continue;
    devices += meant;
    found.push({ pc, rank });
  }
  found.sort((a, b) => b.rank - a.rank || byName.compare(a.pc, b.pc));
  return { pcs: found.map(({ pc }) => pc), devices };
}

/** PC-2 before PC-10. */
const byName = new Intl.Collator("en", { numeric: true });

function rankOf(device: Device, sort: Sort): number {
  if (sort === "trouble") return { error: 100, held: 10, offline: 1, busy: 0, online: 0 }[shownAs(device)];
  return sort === "load" && device.assignment !== null ? 1 : 0;
}

function matches(device: Device, text: string): boolean {
  return (
    device.serial.toLowerCase().includes(text) ||
    device.pc.toLowerCase().includes(text) ||
    device.group.toLowerCase().includes(text)
  );
}
