/** Where an event stands. The ids of the stream name every context: `fleet=12.3,render=4.0`. */

export type Places = Readonly<Record<string, string>>;

export function parseId(id: string): Places {
  return Object.fromEntries(
    id.split(",").map((entry) => {
      const equals = entry.indexOf("=");
      return [entry.slice(0, equals), entry.slice(equals + 1)];
    }),
  );
}

/** The context that moved from one id to the next: that is whose event it was. */
export function mover(before: Places, after: Places): string {
  for (const [context, place] of Object.entries(after)) if (before[context] !== place) return context;
  return Object.keys(after)[0] ?? "";
}
