/** One event's causes and effects: a command, what followed from it, and by which of these it went on. */
import type { Chain, Event } from "@/lib/api/schema";
import type { ShownEvent } from "./rows";

export interface Effect {
  readonly event: ShownEvent;
  /** What happened next to the same thing, by another command. */
  readonly next: ShownEvent | null;
}

export interface Tree {
  readonly command: { readonly id: string; readonly by: string; readonly at: string };
  readonly before: ShownEvent | null;
  readonly effects: readonly Effect[];
  readonly isCut: boolean;
}

export function fromApi({ context, seq, line, at, type, by, cause, data }: Event): ShownEvent {
  const told = typeof data === "object" && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
  return { place: `${context}=${seq}.${line}`, context, at, type, by, cause, data: { ...told, type } };
}

export function treeOf(chain: Chain): Tree {
  const next = new Map(
    chain.continues.map((one) => [`${one.context}=${one.after_seq}.${one.after_line}`, fromApi(one.event)]),
  );
  return {
    command: chain.command,
    before: chain.preceded_by === null ? null : fromApi(chain.preceded_by),
    effects: chain.events.map(fromApi).map((event) => ({ event, next: next.get(event.place) ?? null })),
    isCut: chain.events_left_out,
  };
}

/** The first of them, and the one that is looked at, wherever it stands. */
export function shownFirst(effects: readonly Effect[], place: string, most: number): readonly Effect[] {
  if (effects.length <= most) return effects;
  const first = effects.slice(0, most);
  const own = effects.findIndex((effect) => effect.event.place === place);
  return own < most ? first : [...first.slice(0, -1), ...effects.slice(own, own + 1)];
}
