/** Columns that every table of renders has. */
import type { Dictionary } from "@/lib/i18n/en";
import { type Column, RowButton } from "@/ui/data-table";
import type { Render } from "./render";

export function renderColumn(t: Dictionary, open: (id: string) => void): Column<Render> {
  return {
    id: "render",
    header: t.renders.render,
    isTitle: true,
    cell: (render) => (
      <span className="flex items-baseline gap-2">
        <RowButton onClick={() => open(render.id)}>{render.composition_name}</RowButton>
        <span className="shrink-0 text-ink-3">#{render.id}</span>
      </span>
    ),
  };
}

export function cueColumn(t: Dictionary): Column<Render> {
  return { id: "cue", header: t.renders.cue, cell: (render) => render.cue_item_id ?? "–" };
}

export function dayColumn(t: Dictionary): Column<Render> {
  return {
    id: "day",
    header: t.renders.dayColumn,
    className: "w-28 text-ink-2 @max-3xl:hidden",
    cell: (render) => render.broadcast_date || "–",
  };
}
