/** How full each stage of a render is drawn. */

import { STAGES, type Stage } from "@/lib/rest/render-rows";
import type { Render } from "./render";

export interface StageShare {
  readonly stage: Stage;
  readonly isCurrent: boolean;
  /** 0 to 1; null: it is under way, and nobody knows how far. */
  readonly share: number | null;
}

export function stageShares({ status, progress }: Pick<Render, "status" | "progress">): StageShare[] {
  const current = STAGES.indexOf(status as Stage);
  return STAGES.map((stage, index) => {
    if (status === "completed") return { stage, isCurrent: false, share: 1 };
    if (index !== current) return { stage, isCurrent: false, share: index < current ? 1 : 0 };
    return { stage, isCurrent: true, share: stage === "rendering" ? Math.min(100, Math.max(0, progress)) / 100 : null };
  });
}
