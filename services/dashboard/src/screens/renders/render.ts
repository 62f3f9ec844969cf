/** A render as screens show it, from its row; and how rows that were told come into the lists. */
import { type ListOf, newestFirst } from "@/lib/live/overlay";
import type { AnyRow } from "@/lib/live/told";
import { ENDED_STATUSES, OPEN_STATUSES, type RenderRow, STAGES, type StageRow } from "@/lib/rest/render-rows";
import { type EndedFilter, isEndedShown } from "./ended-query";

export interface Render extends Omit<RenderRow, "id" | "cue_item_id"> {
  readonly id: string;
  readonly cue_item_id: string | null;
  /** When it came to its stage, in milliseconds of this machine's clock; null: nobody has told. */
  readonly stageSince: number | null;
}

export function renderOf(row: RenderRow, stages: readonly StageRow[] = [], readAt = Date.now()): Render {
  const stage = stages.find((one) => one.under_way);
  const { id, cue_item_id: cue, ...rest } = row;
  const since = row.status === "pending" ? Date.parse(row.created_at) : null;
  return {
    ...rest,
    id: String(id),
    cue_item_id: cueText(cue),
    stageSince: stage === undefined ? since : readAt - stage.seconds * 1000,
  };
}

/** A cue item has a number or a name, as whoever requested the render wrote it. */
export function cueText(cue: RenderRow["cue_item_id"]): string | null {
  return cue === null ? null : String(cue);
}

export function isUnderWay(render: Pick<Render, "status">): boolean {
  return STAGES.some((stage) => stage === render.status);
}

/** A change of its stage is told as it happens, so that is when it came there. */
function toldRender(told: AnyRow, read: Render | undefined): Render {
  const render = renderOf(told as unknown as RenderRow);
  if (read?.status === render.status) return { ...render, stageSince: read.stageSince };
  return isUnderWay(render) ? { ...render, stageSince: Date.parse(render.updated_at) } : render;
}

const RENDERS = {
  keyOf: (render: Render) => render.id,
  rowOf: toldRender,
  changedAt: (render: Render) => render.updated_at,
};

const byRequest = newestFirst<Render>((render) => render.created_at);

export const OPEN_LIST: ListOf<Render> = {
  ...RENDERS,
  isShown: ({ status }) => OPEN_STATUSES.some((one) => one === status),
  compare: (a, b) => byRequest(b, a),
};

export function endedList(filter: EndedFilter): ListOf<Render> {
  return {
    ...RENDERS,
    isShown: (render) => ENDED_STATUSES.some((one) => one === render.status) && isEndedShown(filter, render),
    compare: byRequest,
  };
}

export function oneRender(id: string): ListOf<Render> {
  return { ...RENDERS, isShown: (render) => render.id === id, compare: () => 0 };
}
