/** The render queue at a moment of the past: what its events had led to by then. */
import { usePast } from "@/app/past";
import { useMoment } from "@/app/use-moment";
import type { Render } from "@/lib/live/fold-renders";
import type { PastRender } from "@/lib/past/moments";
import { ENDED_STATUSES } from "@/lib/rest/render-rows";

export function usePastRenders() {
  const past = usePast();
  const { data, error, refetch } = useMoment("render", past);
  return { renders: data?.renders.map(pastRender), error, refetch };
}

export function hasEnded(render: Pick<Render, "status">): boolean {
  return ENDED_STATUSES.some((status) => status === render.status);
}

/** What is not kept of the past is left empty. */
export function pastRender(row: PastRender): Render {
  return {
    ...row,
    id: String(row.id),
    cue_item_id: null,
    broadcast_date: "",
    lock_expires_at: null,
    nexrender_job_id: null,
    output_file_path: null,
    output_size_bytes: null,
    output_sha256: null,
    error_code: null,
    error_message: null,
    retry_due_at: null,
    unmapped_fields: [],
    updated_at: row.started_at ?? row.created_at,
    completed_at: null,
    duration_seconds: null,
    stageSince: null,
  };
}
