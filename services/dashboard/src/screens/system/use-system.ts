/** How the platform is, looked at every few seconds by whichever screen shows it; and the looks of the last minutes. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useApp } from "@/app/context";
import { get } from "@/lib/api/get";
import type { System } from "@/lib/api/schema";
import { useObservable } from "@/lib/react/use-observable";
import { Observable } from "@/lib/session/observable";
import { type Look, withLook } from "./lag";

export const LOOK_EVERY_MS = 5_000;

/** Kept while somebody turns to another screen: a line that begins anew each time says nothing. */
const looks = new Observable<readonly Look[]>([]);

export function useSystem() {
  const { client } = useApp();
  const system = useQuery<System>({
    queryKey: ["system"],
    queryFn: () => get(client, "/api/system", {}),
    refetchInterval: LOOK_EVERY_MS,
  });
  const { data } = system;
  useEffect(() => {
    if (data !== undefined) looks.set(withLook(looks.get(), data));
  }, [data]);
  return system;
}

export function useLooks(): readonly Look[] {
  return useObservable(looks);
}
