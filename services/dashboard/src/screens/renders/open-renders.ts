/** The renders that have not ended: read now and then, and moved on by every event in between. */
import { notifyManager, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { useApp } from "@/app/context";
import { usePast } from "@/app/past";
import { useHeard } from "@/app/use-heard";
import {
  foldRenders,
  isUnderWay,
  mergeRead,
  NO_RENDERS,
  type OpenRenders,
  type Render,
  renderOf,
} from "@/lib/live/fold-renders";
import { rows } from "@/lib/rest/read";
import { OPEN_STATUSES, RENDER_COLUMNS, type RenderRow, type StageRow } from "@/lib/rest/render-rows";

const KEY = ["open-renders"];
/** Progress between two events is in the rows alone. */
const LOOK_EVERY_MS = 4_000;
const LOOK_WHILE_QUIET_MS = 30_000;
const OPEN_MAX = 1_000;
const STAGE_COLUMNS = "render_stages(stage,seconds,under_way,seconds_min,seconds_max,verdict)";

/** There may be more than were read. */
export const isCut = (open: OpenRenders | undefined): boolean => (open?.renders.length ?? 0) >= OPEN_MAX;

type ReadRow = RenderRow & { readonly render_stages: readonly StageRow[] };

export function useOpenRenders() {
  const { client } = useApp();
  const queries = useQueryClient();
  const past = usePast();
  const again = () => void queries.invalidateQueries({ queryKey: KEY });
  useHeard(
    "render",
    (events) => {
      const known = queries.getQueryData<OpenRenders>(KEY);
      if (known === undefined) return;
      const told = events.reduce(
        (before, event) => {
          const { open, isStale, hasEnded } = foldRenders(before.open, event);
          return { open, isStale: before.isStale || isStale, hasEnded: before.hasEnded || hasEnded };
        },
        { open: known, isStale: false, hasEnded: false },
      );
      if (told.open !== known) queries.setQueryData<OpenRenders>(KEY, told.open);
      if (told.isStale) again();
      if (told.hasEnded) void queries.invalidateQueries({ queryKey: ["ended-renders"] });
    },
    again,
  );
  return useQuery({
    queryKey: KEY,
    queryFn: async (): Promise<OpenRenders> => {
      const read = await rows<ReadRow>(client, "render_queue", {
        select: `${RENDER_COLUMNS},${STAGE_COLUMNS}`,
        status: `in.(${OPEN_STATUSES.join(",")})`,
        order: "created_at",
        limit: OPEN_MAX,
      });
      const readAt = Date.now();
      return { ...NO_RENDERS, renders: read.map(({ render_stages, ...row }) => renderOf(row, render_stages, readAt)) };
    },
    structuralSharing: (known, read) => mergeRead(known as OpenRenders | undefined, read as OpenRenders),
    refetchInterval: ({ state }) => (state.data?.renders.some(isUnderWay) ? LOOK_EVERY_MS : LOOK_WHILE_QUIET_MS),
    enabled: past === null,
  });
}

/** How renders stand now, for a dialog over the screen that follows them. Null: it has ended. */
export function useAsTheyStand(asked: readonly Render[]): readonly (Render | null)[] {
  const queries = useQueryClient();
  const subscribe = useCallback(
    (listener: () => void) => queries.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [queries],
  );
  const known = useSyncExternalStore(subscribe, () => queries.getQueryData<OpenRenders>(KEY));
  if (known === undefined) return asked;
  const unknown = (render: Render) => (isCut(known) ? render : null);
  return asked.map((render) => known.renders.find((one) => one.id === render.id) ?? unknown(render));
}
