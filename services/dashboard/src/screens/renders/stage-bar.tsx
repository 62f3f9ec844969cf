/** The way of a render: one piece for each stage, filled as far as it is. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import type { Stage } from "@/lib/rest/render-rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import type { Render } from "./render";
import { stageShares } from "./stage-shares";

/** Roughly as long as each takes. */
const WIDTHS: Record<Stage, string> = { preparing: "1.6fr", rendering: "5fr", encoding: "2.6fr", uploading: "2fr" };

export function StageBar({ render }: { render: Render }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(1_000);
  const shares = stageShares(render);
  const percent = render.status === "rendering" ? ` ${render.progress} %` : "";
  const spent = render.stageSince === null ? "" : format.duration(now - render.stageSince);
  return (
    <div
      role="progressbar"
      aria-label={render.composition_name}
      aria-valuetext={`${t.renders.status[render.status]}${percent}`}
      {...(render.status === "rendering"
        ? { "aria-valuenow": render.progress, "aria-valuemin": 0, "aria-valuemax": 100 }
        : {})}
      className="grid gap-x-1 gap-y-1"
      style={{ gridTemplateColumns: shares.map(({ stage }) => WIDTHS[stage]).join(" ") }}
    >
      {shares.map(({ stage, share, isCurrent }) => (
        <div key={stage} className="min-w-0">
          <div className={`h-2 overflow-hidden rounded-full ${isCurrent ? "bg-busy-soft" : "bg-sunken"}`}>
            <div
              className={`h-full rounded-full bg-busy transition-[width] duration-500 ease-out ${share === null ? "animate-pulse opacity-60" : ""}`}
              style={{ width: `${100 * (share ?? 1)}%` }}
            />
          </div>
          <p
            className={`mt-1 truncate text-xs ${isCurrent ? "font-medium text-ink max-sm:overflow-visible" : "text-ink-3 max-sm:hidden"} ${stage === "uploading" ? "max-sm:flex max-sm:justify-end" : ""}`}
          >
            {t.renders.status[stage]}
            {isCurrent && (
              <span className="font-normal text-ink-3">
                {percent}
                {spent !== "" && ` · ${spent}`}
              </span>
            )}
          </p>
        </div>
      ))}
    </div>
  );
}
