/** The render queue at a moment of the past: what its events had led to by then. */
import { useQuery } from "@tanstack/react-query";
import { useApp } from "@/app/context";
import { type Past, usePast } from "@/app/past";
import { useMoment } from "@/app/use-moment";
import type { PastRender, RenderMoment } from "@/lib/past/moments";
import { oneOf, rows } from "@/lib/rest/read";
import { ENDED_STATUSES, RENDER_COLUMNS, type RenderRow } from "@/lib/rest/render-rows";
import { cueText, type Render, renderOf } from "./render";

/** Of the newest: more are counted, and shown with less about them. */
const ROWS_MAX = 100;

export function usePastRenders() {
  const past = usePast();
  const { data: moment, error, refetch } = useMoment("render", past);
  const { data: known } = useRowsNow(moment);
  const renders = moment?.renders.map((render) => renderThen(render, known?.get(render.id), past));
  return { renders, error, refetch };
}

function useRowsNow(moment: RenderMoment | undefined) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["past-render-rows", moment?.at],
    queryFn: async ({ signal }) => {
      const ids = moment?.renders.slice(-ROWS_MAX).map((render) => String(render.id)) ?? [];
      const query = { select: RENDER_COLUMNS, id: oneOf(ids), limit: ROWS_MAX };
      const found = ids.length === 0 ? [] : await rows<RenderRow>(client, "render_queue", query, { signal });
      return new Map(found.map((row) => [row.id, row]));
    },
    enabled: moment !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  });
}

export function hasEnded(render: Pick<Render, "status">): boolean {
  return ENDED_STATUSES.some((status) => status === render.status);
}

/** The row of today, where it has not changed since; else what it was asked for, which never changes. */
export function renderThen(then: PastRender, row: RenderRow | undefined, past: Past | null): Render {
  const isSame = row !== undefined && past !== null && Date.parse(row.updated_at) <= past.at;
  if (isSame) return renderOf(row);
  return {
    ...then,
    id: String(then.id),
    cue_item_id: cueText(row?.cue_item_id ?? null),
    broadcast_date: row?.broadcast_date ?? "",
    lock_expires_at: null,
    nexrender_job_id: null,
    output_file_path: null,
    output_size_bytes: null,
    output_sha256: null,
    error_code: null,
    error_message: null,
    retry_due_at: null,
    unmapped_fields: [],
    updated_at: then.started_at ?? then.created_at,
    completed_at: null,
    duration_seconds: null,
    stageSince: null,
  };
}
