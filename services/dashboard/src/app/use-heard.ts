/** Events of one context in a component, as they are heard; and reads that are done again when there were some. */
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { Ear } from "@/lib/live/heard";
import type { HeardEvent } from "@/lib/live/tail";
import { useLive } from "./context";

/** Between two reads that events asked for. */
const READ_EVERY_MS = 2_000;

/** `hear`: once a frame, in order. `missed`: some were not heard, so what is shown is to be read again. */
export function useHeard(
  context: string,
  hear: (events: readonly HeardEvent["event"][]) => void,
  missed: () => void,
): void {
  const live = useLive();
  const latest = useRef({ hear, missed });
  latest.current = { hear, missed };
  useEffect(() => {
    const ear = new Ear(live.tail);
    let wasLive = live.status.get().phase === "live";
    const stopTail = live.tail.version.subscribe(() => {
      const events = ear.take();
      if (events === null) return latest.current.missed();
      const own = events.filter((heard) => heard.context === context).map((heard) => heard.event);
      if (own.length > 0) latest.current.hear(own);
    });
    const stopStatus = live.status.subscribe(() => {
      const isLive = live.status.get().phase === "live";
      if (isLive && !wasLive) latest.current.missed(); // the line was lost for a while
      wasLive = isLive;
    });
    return () => {
      stopTail();
      stopStatus();
    };
  }, [live, context]);
}

/** Reads all queries whose key begins so again, soon after something of this context was heard. */
export function useReadAgain(context: string, keys: readonly QueryKey[]): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const readSoon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      for (const queryKey of keys) void queries.invalidateQueries({ queryKey });
    }, READ_EVERY_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useHeard(context, readSoon, readSoon);
}
