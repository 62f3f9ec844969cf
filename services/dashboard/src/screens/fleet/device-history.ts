/** What a phone did: read once, and again when it has something new. */
import { useQuery } from "@tanstack/react-query";
import { useApp } from "@/app/context";
import { usePast } from "@/app/past";
import type { Device } from "@/lib/live/fleet";
import { rows } from "@/lib/rest/read";
import type { TaskEventRow } from "@/lib/rest/rows";
import { runsOf } from "./runs";

const LINES_MAX = 1000;
export const DAY_MS = 86_400_000;

export function useDeviceRuns(device: Device | undefined, id: string) {
  const { client } = useApp();
  const past = usePast();
  return useQuery({
    // Its last change is part of the key: each end of a run is one.
    queryKey: ["device-history", id, device?.changedAt, past?.iso],
    queryFn: async () => {
      const from = new Date((past?.at ?? Date.now()) - DAY_MS).toISOString();
      const when =
        past === null ? { created_at: `gte.${from}` } : { and: `(created_at.gte.${from},created_at.lte.${past.iso})` };
      const query = { device_id: `eq.${id}`, ...when, order: "created_at.desc", limit: LINES_MAX };
      return runsOf(await rows<TaskEventRow>(client, "tasks_event", query));
    },
    placeholderData: (before) => before,
  });
}
