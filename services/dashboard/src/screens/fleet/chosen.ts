/** Phones that somebody has selected: one by one, or from one to another in the order of the page. */
import { BULK_MAX } from "@/lib/rest/bulk";

export interface Chosen {
  readonly ids: ReadonlySet<string>;
  /** The last one that was selected by itself: a range begins there. */
  readonly anchor: string | null;
}

export const NONE: Chosen = { ids: new Set(), anchor: null };

/** Beyond the most of one action nothing is added. */
function capped(ids: Iterable<string>, anchor: string | null): Chosen {
  const some = new Set<string>();
  for (const id of ids) {
    if (some.size >= BULK_MAX) break;
    some.add(id);
  }
  return { ids: some, anchor };
}

export function toggled({ ids }: Chosen, id: string): Chosen {
  if (!ids.has(id)) return capped([...ids, id], id);
  return { ids: new Set([...ids].filter((one) => one !== id)), anchor: id };
}

/** All from the anchor to this one, with those that were selected before. `order`: all phones as the page shows them. */
export function extended(chosen: Chosen, id: string, order: readonly string[]): Chosen {
  const [from, to] = [order.indexOf(chosen.anchor ?? id), order.indexOf(id)];
  if (from === -1 || to === -1) return toggled(chosen, id);
  const range = order.slice(Math.min(from, to), Math.max(from, to) + 1);
  return capped([...chosen.ids, ...range], chosen.anchor ?? id);
}

export function allOf(order: readonly string[]): Chosen {
  return capped(order, null);
}

/** Without those that are not registered any more. */
export function still({ ids, anchor }: Chosen, isKnown: (id: string) => boolean): Chosen {
  return [...ids].every(isKnown) ? { ids, anchor } : capped([...ids].filter(isKnown), anchor);
}

/** How a click selects: like in a list of files. */
export function howOf(event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }, isSelecting: boolean) {
  if (event.shiftKey) return "range";
  return isSelecting || event.ctrlKey || event.metaKey ? "toggle" : "open";
}
export type How = ReturnType<typeof howOf>;
