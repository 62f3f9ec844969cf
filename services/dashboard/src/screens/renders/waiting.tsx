/** Renders that wait for a worker, in the order in which they are taken. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Ago } from "@/lib/time/ago";
import { type Column, DataTable, type Selecting } from "@/ui/data-table";
import { Empty } from "@/ui/states";
import { Badge } from "@/ui/status";
import { RenderActions } from "./actions";
import { cueColumn, dayColumn, renderColumn } from "./columns";
import type { Render } from "./render";
import { faultText } from "./status-badge";

export function Waiting({
  renders,
  current,
  open,
  selecting,
}: {
  renders: readonly Render[];
  current: string | undefined;
  open: (id: string) => void;
  selecting: Pick<Selecting<Render>, "selected" | "onChange"> | undefined;
}): ReactNode {
  const t = useText();
  if (renders.length === 0) return <Empty isSmall title={t.renders.nothingWaits} />;
  const columns: Column<Render>[] = [
    {
      id: "place",
      header: "#",
      className: "w-12 text-right text-ink-3 @max-lg:hidden",
      cell: (_, index) => index + 1,
    },
    { ...renderColumn(t, open), className: "w-[34%]" },
    { ...cueColumn(t), className: "w-[12%] text-ink-2 @max-3xl:hidden" },
    dayColumn(t),
    {
      id: "before",
      header: t.renders.before,
      cell: (render) => (
        <span className="flex items-center gap-2">
          {render.recovery_count > 0 && <Badge tone="held">{t.renders.recovered(render.recovery_count)}</Badge>}
          {render.error_code !== null && (
            <span className="truncate text-held-ink" title={render.error_message ?? undefined}>
              {faultText(t, render.error_code)}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "since",
      header: t.renders.requested,
      className: "w-32 text-right text-ink-3",
      cell: (render) => <Ago at={render.created_at} />,
    },
    {
      id: "actions",
      header: "",
      className: "w-16 text-right",
      cell: (render) => <RenderActions render={render} isSmall />,
    },
  ];
  return (
    <DataTable<Render>
      label={t.renders.waiting}
      columns={columns}
      rows={renders}
      current={current}
      open={open}
      selecting={
        selecting && {
          ...selecting,
          selectAll: t.renders.selectAll,
          select: (render) => t.renders.select(`${render.composition_name} #${render.id}`),
        }
      }
    />
  );
}
