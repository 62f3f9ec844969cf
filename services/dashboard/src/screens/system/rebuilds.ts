/** Rebuilds of read models, as they are shown. */
import type { RebuildState } from "@/lib/api/schema";
import type { Tone } from "@/ui/status";

const TONES: Readonly<Record<string, Tone>> = {
  folding: "busy",
  comparing: "busy",
  swapping: "busy",
  swapped: "online",
  dropped: "offline",
  failed: "error",
  interrupted: "held",
};

export function toneOfStage(stage: string): Tone {
  return TONES[stage] ?? "offline";
}

export function isAtWork(stage: string): boolean {
  return toneOfStage(stage) === "busy";
}

/** How much of it is folded, from 0 to 1; null: nobody knows yet. More may come while it works. */
export function shareOf({ folded, events, stage }: Pick<RebuildState, "folded" | "events" | "stage">): number | null {
  if (stage === "comparing" || stage === "swapping") return 1;
  return events === null || events === 0 ? null : Math.min(1, folded / events);
}

/** Rows that differed; null: it has not been compared. */
export function differencesOf({ tables }: Pick<RebuildState, "tables">): number | null {
  return tables === null ? null : tables.reduce((sum, table) => sum + table.different, 0);
}
