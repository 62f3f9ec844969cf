/** The renders that have not ended: read now and then, with what was told since laid over. */
import { notifyManager, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { useApp } from "@/app/context";
import { usePast } from "@/app/past";
import { useOverlaid } from "@/app/use-rows";
import { rows } from "@/lib/rest/read";
import { OPEN_STATUSES, RENDER_COLUMNS, type RenderRow, type StageRow } from "@/lib/rest/render-rows";
import { isUnderWay, OPEN_LIST, type Render, renderOf } from "./render";

const KEY = ["open-renders"];
/** Progress between two events is in the rows alone. */
const LOOK_EVERY_MS = 4_000;
const LOOK_WHILE_QUIET_MS = 30_000;
const OPEN_MAX = 1_000;
const STAGE_COLUMNS = "render_stages(stage,seconds,under_way,seconds_min,seconds_max,verdict)";
const NONE: readonly Render[] = [];

/** There may be more than were read. */
export const isCut = (open: readonly Render[] | undefined): boolean => (open?.length ?? 0) >= OPEN_MAX;

type ReadRow = RenderRow & { readonly render_stages: readonly StageRow[] };

export function useOpenRenders() {
  const { client } = useApp();
  const past = usePast();
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: async (): Promise<readonly Render[]> => {
      const read = await rows<ReadRow>(client, "render_queue", {
        select: `${RENDER_COLUMNS},${STAGE_COLUMNS}`,
        status: `in.(${OPEN_STATUSES.join(",")})`,
        order: "created_at",
        limit: OPEN_MAX,
      });
      const readAt = Date.now();
      return read.map(({ render_stages, ...row }) => renderOf(row, render_stages, readAt));
    },
    refetchInterval: ({ state }) => (state.data?.some(isUnderWay) ? LOOK_EVERY_MS : LOOK_WHILE_QUIET_MS),
    enabled: past === null,
  });
  const renders = useOverlaid("render_queue", data ?? NONE, OPEN_LIST, { isAll: !isCut(data), queryKey: KEY });
  return { renders: data === undefined ? undefined : renders, error, refetch };
}

/** How renders stand now, for a dialog over the screen that follows them. Null: it has ended. */
export function useAsTheyStand(asked: readonly Render[]): readonly (Render | null)[] {
  const queries = useQueryClient();
  const subscribe = useCallback(
    (listener: () => void) => queries.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [queries],
  );
  const read = useSyncExternalStore(subscribe, () => queries.getQueryData<readonly Render[]>(KEY));
  const known = useOverlaid("render_queue", read ?? NONE, OPEN_LIST, { isAll: !isCut(read), queryKey: KEY });
  if (read === undefined) return asked;
  const unknown = (render: Render) => (isCut(read) ? render : null);
  return asked.map((render) => known.find((one) => one.id === render.id) ?? unknown(render));
}
