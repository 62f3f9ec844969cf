/** What the address of the renders says. */
import { choice, flag, only, type RawSearch, sortOf, text } from "@/app/search-params";
import { ENDED_STATUSES } from "@/lib/rest/render-rows";

export const VIEWS = ["mapping"] as const;

/** Columns with an index. */
export const ENDED_SORTS = ["composition_name", "broadcast_date", "id"] as const;

export function rendersSearch(raw: RawSearch) {
  return only({
    q: text(raw, "q"),
    ended: choice(raw, "ended", ENDED_STATUSES),
    /** Only of this composition. */
    of: text(raw, "of"),
    /** Only for this day of broadcast. */
    day: day(raw),
    /** The one that is open. */
    render: number(raw, "render"),
    /** By which column those that ended are sorted: `composition_name.desc`. */
    order: sortOf(raw, ENDED_SORTS),
    new: flag(raw, "new"),
    view: choice(raw, "view", VIEWS),
    /** In the mapping: the composition that is open. */
    map: text(raw, "map"),
  });
}
export type RendersSearch = ReturnType<typeof rendersSearch>;

function day(raw: RawSearch): string | undefined {
  const value = text(raw, "day");
  return value !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : undefined;
}

/** Numbers of renders are kept as texts, like all ids. */
function number(raw: RawSearch, key: string): string | undefined {
  const value = text(raw, key);
  return value !== undefined && /^\d{1,9}$/.test(value) ? value : undefined;
}
