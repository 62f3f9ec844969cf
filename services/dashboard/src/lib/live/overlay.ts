/** The last rows that were told of a relation of which a screen reads pages: newer than what it has read, where it is. */
import { Observable } from "../session/observable";
import type { Frames } from "./frame";
import { micros } from "./moment";
import { Table } from "./table";
import { type AnyRow, keyText, type RowsTold } from "./told";

/** Kept of a relation. Beyond it screens read again. */
export const TOLD_MAX = 1_000;

/** Null: the row is no more. */
export interface Told {
  readonly row: AnyRow | null;
}

export class Overlay {
  readonly told: Table<Told>;
  /** Grows when what was read may lack something that is not here either. */
  readonly resets = new Observable(0);
  readonly #key: readonly string[];

  constructor(frames: Frames, key: readonly string[] = ["id"]) {
    this.told = new Table(frames);
    this.#key = key;
  }

  add({ rows, gone }: Pick<RowsTold, "rows" | "gone">): void {
    for (const row of rows) this.told.set(keyText(this.#key.map((column) => row[column])), { row });
    for (const key of gone) this.told.set(keyText(key), { row: null });
    if (this.told.size > TOLD_MAX) this.reset();
  }

  reset(): void {
    this.told.clear();
    this.resets.set(this.resets.get() + 1);
  }
}

export interface ListOf<Row> {
  keyOf(row: Row): string;
  /** How a told row is shown. `read`: what was read of it. Null: it cannot be made from what was told. */
  rowOf(told: AnyRow, read: Row | undefined): Row | null;
  isShown(row: Row): boolean;
  /** As the list was asked for. */
  compare(a: Row, b: Row): number;
  /** When it last changed. */
  changedAt(row: Row): string | null;
}

/** `isAll`: there are no more pages. What belongs after the last row that was read comes with its page. */
export function overlaid<Row>(
  read: readonly Row[],
  overlay: Overlay,
  list: ListOf<Row>,
  isAll: boolean,
): readonly Row[] {
  if (overlay.told.size === 0) return read;
  const known = new Map(read.map((row) => [list.keyOf(row), row]));
  const last = read.at(-1);
  let isChanged = false;
  for (const [key, { row }] of overlay.told.entries()) {
    const before = known.get(key);
    const after = row === null ? null : list.rowOf(row, before);
    if (after === null) {
      isChanged = (row === null && known.delete(key)) || isChanged;
      continue;
    }
    if (before !== undefined && isNewer(list.changedAt(before), list.changedAt(after))) continue;
    const belongs = before !== undefined || isAll || last === undefined || list.compare(after, last) < 0;
    const isShown = belongs && list.isShown(after);
    if (isShown) known.set(key, after);
    isChanged = isShown || known.delete(key) || isChanged;
  }
  return isChanged ? [...known.values()].sort(list.compare) : read;
}

/** What was read just now may say more than what was told: of two that are as old it is the one that is shown. */
function isNewer(read: string | null, told: string | null): boolean {
  return read !== null && told !== null && micros(read) >= micros(told);
}

/** The newest first, by a column of times. */
export function newestFirst<Row>(atOf: (row: Row) => string): (a: Row, b: Row) => number {
  return (a, b) => micros(atOf(b)) - micros(atOf(a));
}
