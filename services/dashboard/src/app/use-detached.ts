/** Events that an operator has taken out of the database: what lists of events no longer show. */
import { useQuery } from "@tanstack/react-query";
import { get } from "@/lib/api/get";
import type { DetachedRows, System } from "@/lib/api/schema";
import { useApp } from "./context";

const FRESH_MS = 300_000;

/** The time of the last detached event, in milliseconds. Null: every event is there, or it is not known yet. */
export function useDetachedUntil(): number | null {
  const { client } = useApp();
  const { data } = useQuery<System>({
    queryKey: ["system-detached"],
    queryFn: () => get(client, "/api/system", {}),
    staleTime: FRESH_MS,
  });
  return data === undefined ? null : detachedUntil(data.detached);
}

export function detachedUntil(detached: readonly DetachedRows[]): number | null {
  const times = detached.flatMap(({ until }) => (until === null ? [] : [Date.parse(until)]));
  return times.length === 0 ? null : Math.max(...times);
}
