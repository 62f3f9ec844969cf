/** What is counted, as of now: drawn again every two seconds, and at once when the past was read. */
import { useLive } from "@/app/context";
import type { Tally } from "@/lib/live/tally";
import { useObservable } from "@/lib/react/use-observable";
import { useNow } from "@/lib/time/use-now";

const LOOK_EVERY_MS = 2_000;

export function useTally(): { readonly tally: Tally; readonly now: number; readonly past: number } {
  const { tally } = useLive();
  const past = useObservable(tally.past);
  return { tally, now: useNow(LOOK_EVERY_MS), past };
}
