/** A moment of the past, read once: it does not change. */
import { useQuery } from "@tanstack/react-query";
import { againInMs, BUSY_TRIES_MAX, isBusy, type Moments, readMoment, StillComputing } from "@/lib/past/moments";
import { useApp } from "./context";
import type { Past } from "./past";
import { isWorthAnotherTry } from "./queries";

const TRIES_MAX = 3;
/** Moments are large: those that nobody looks at are soon forgotten here. The browser keeps the answers. */
const FORGET_AFTER_MS = 60_000;

export function useMoment<C extends keyof Moments>(context: C, past: Past | null) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["moment", context, past?.iso],
    queryFn: ({ signal }) => readMoment(client, context, past?.iso ?? "", signal),
    enabled: past !== null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: FORGET_AFTER_MS,
    // The moment before stays until the next one is there.
    placeholderData: (before) => before,
    retry: (failures, error) =>
      error instanceof StillComputing ||
      (isBusy(error) ? failures < BUSY_TRIES_MAX : failures < TRIES_MAX && isWorthAnotherTry(error)),
    retryDelay: (_, error) => againInMs(error),
  });
}
