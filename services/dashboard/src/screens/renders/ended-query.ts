/** The question that the filters of ended renders become. */
import { containing, type Query } from "@/lib/rest/read";
import { ENDED_STATUSES, RENDER_COLUMNS, type RenderRow } from "@/lib/rest/render-rows";
import type { RendersSearch } from "./search";

export type EndedFilter = { readonly [K in "q" | "ended" | "of" | "day"]?: RendersSearch[K] | undefined };

export function isNarrow(filter: EndedFilter): boolean {
  return [filter.q, filter.ended, filter.of, filter.day].some((value) => value !== undefined);
}

export function endedQuery(filter: EndedFilter): Query {
  const text = (filter.q ?? "").trim();
  return {
    select: RENDER_COLUMNS,
    status: filter.ended === undefined ? `in.(${ENDED_STATUSES.join(",")})` : `eq.${filter.ended}`,
    ...(filter.of === undefined ? {} : { composition_id: `eq.${filter.of}` }),
    ...(filter.day === undefined ? {} : { broadcast_date: `eq.${filter.day}` }),
    ...(text === "" ? {} : { or: `(${wordsOf(text).join(",")})` }),
  };
}

/** `#41` and `41` are numbers of renders; all else is part of a name, of a cue item, or of what went wrong. */
function wordsOf(text: string): string[] {
  const number = numberIn(text);
  if (number !== undefined) return [`id.eq.${number}`, `cue_item_id.eq.${number}`];
  const named = ["composition_name", "cue_item_id", "error_code"].map((column) => `${column}.${containing(text)}`);
  return named;
}

type Ended = Omit<RenderRow, "id" | "cue_item_id"> & { readonly id: string; readonly cue_item_id: string | null };

/** Whether the question would be answered with this one, which has ended. */
export function isEndedShown(filter: EndedFilter, render: Ended): boolean {
  const text = (filter.q ?? "").trim().toLowerCase();
  const number = numberIn(text);
  const texts = [render.composition_name, render.cue_item_id, render.error_code];
  return (
    (filter.ended === undefined || filter.ended === render.status) &&
    (filter.of === undefined || filter.of === render.composition_id) &&
    (filter.day === undefined || filter.day === render.broadcast_date) &&
    (text === "" ||
      (number === undefined
        ? texts.some((one) => one?.toLowerCase().includes(text))
        : [render.id, render.cue_item_id].includes(number)))
  );
}

function numberIn(text: string): string | undefined {
  return /^#?(\d{1,9})$/.exec(text)?.[1];
}
