/** How racks are laid out: as many side by side as fit, and how high each row is. In step with `fleet.css`. */
import type { Density } from "@/lib/preferences/preferences";

export const PHONES_IN_ROW = 10;
/** A rack has room for so many, also while it has fewer. */
export const SLOTS = 20;

interface Size {
  /** At least: what is left of a row is shared out among them. */
  readonly phoneWidth: number;
  readonly phoneHeight: number;
  readonly gap: number;
}

export const SIZES: Record<Density, Size> = {
  comfortable: { phoneWidth: 24, phoneHeight: 32, gap: 4 },
  compact: { phoneWidth: 12, phoneHeight: 16, gap: 3 },
};

const RACK_PADDING = 12;
const RACK_HEAD = 28;
const BORDERS = 2;
export const RACK_GAP = 12;

function rackWidth(density: Density): number {
  const { phoneWidth, gap } = SIZES[density];
  return PHONES_IN_ROW * phoneWidth + (PHONES_IN_ROW - 1) * gap + 2 * RACK_PADDING + BORDERS;
}

export function rackHeight(density: Density, devices: number): number {
  const { phoneHeight, gap } = SIZES[density];
  const rows = Math.ceil(Math.max(devices, SLOTS) / PHONES_IN_ROW);
  return RACK_HEAD + rows * phoneHeight + (rows - 1) * gap + 2 * RACK_PADDING - 4 + BORDERS;
}

export function racksInRow(density: Density, width: number): number {
  return Math.max(1, Math.floor((width + RACK_GAP) / (rackWidth(density) + RACK_GAP)));
}

/** New racks in one frame: as much as is drawn without anybody waiting for it. */
export const NEW_RACKS_MAX = 10;

/** Of the racks that are wanted those that were drawn before, and a few more. */
export function drawnNext(before: ReadonlySet<string>, wanted: readonly string[]): string[] {
  let room = NEW_RACKS_MAX;
  return wanted.filter((id) => before.has(id) || room-- > 0);
}
