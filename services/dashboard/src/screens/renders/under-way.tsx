/** What is being rendered now: who has it, how far it is, and what holds it up. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { RowButton } from "@/ui/data-table";
import { Empty } from "@/ui/states";
import { Badge } from "@/ui/status";
import { RenderActions } from "./actions";
import type { Render } from "./render";
import { StageBar } from "./stage-bar";
import { faultText } from "./status-badge";

export function UnderWay({
  renders,
  waits,
  current,
  open,
}: {
  renders: readonly Render[];
  waits: boolean;
  current: string | undefined;
  open: (id: string) => void;
}): ReactNode {
  const t = useText();
  if (renders.length === 0) return <Empty isSmall title={waits ? t.renders.idleButWaiting : t.renders.idle} />;
  return (
    <ul>
      {renders.map((render) => (
        <li
          key={render.id}
          aria-current={render.id === current ? "true" : undefined}
          className="border-t border-line px-4 py-3 first:border-t-0 aria-[current=true]:bg-accent-soft"
        >
          <div className="mb-1.5 flex min-h-8 flex-wrap items-center gap-x-3">
            <RowButton onClick={() => open(render.id)}>{render.composition_name}</RowButton>
            <Aside render={render} />
            <span className="ml-auto flex flex-wrap items-center justify-end gap-2 text-sm text-ink-3">
              <Warnings render={render} />
              {render.worker_id !== null && <span>{t.renders.by(render.worker_id)}</span>}
              <RenderActions render={render} isSmall />
            </span>
          </div>
          <StageBar render={render} />
        </li>
      ))}
    </ul>
  );
}

/** What tells it from others of its composition. */
export function Aside({ render }: { render: Render }): ReactNode {
  const t = useText();
  const parts = [
    `#${render.id}`,
    ...(render.cue_item_id === null ? [] : [t.renders.cueNumber(render.cue_item_id)]),
    ...(render.broadcast_date === "" ? [] : [render.broadcast_date]),
  ];
  return <span className="min-w-0 truncate text-sm text-ink-3">{parts.join(" · ")}</span>;
}

function Warnings({ render }: { render: Render }): ReactNode {
  const t = useText();
  const format = useFormat();
  return (
    <>
      {render.retry_due_at !== null && (
        <span title={render.error_message ?? undefined}>
          <Badge tone="held">
            {t.renders.retryAt(faultText(t, render.error_code ?? ""), format.clock(render.retry_due_at))}
          </Badge>
        </span>
      )}
      {render.recovery_count > 0 && <Badge tone="held">{t.renders.recovered(render.recovery_count)}</Badge>}
      {render.unmapped_fields.length > 0 && (
        <Badge tone="held">{t.renders.unmappedCount(render.unmapped_fields.length)}</Badge>
      )}
    </>
  );
}
