/** Renders that have ended, newest first, page by page. */
import { type ReactNode, useDeferredValue, useMemo } from "react";
import { usePast } from "@/app/past";
import { useLivePages } from "@/app/use-rows";
import { useText } from "@/lib/i18n/i18n";
import type { RenderRow } from "@/lib/rest/render-rows";
import type { ServerSort, Sort } from "@/lib/sort/sort";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { type Column, DataTable, type Sorting } from "@/ui/data-table";
import { NextPage } from "@/ui/more";
import { Empty, Unread } from "@/ui/states";
import { RenderActions } from "./actions";
import { cueColumn, dayColumn, renderColumn } from "./columns";
import { type EndedFilter, endedQuery, isNarrow } from "./ended-query";
import { endedList, type Render, renderOf } from "./render";
import { faultText, RenderBadge } from "./status-badge";

function useServerSort(sort: Sort | undefined): ServerSort | undefined {
  return useMemo(() => sort && { ...sort, isNullable: sort.by === "broadcast_date" }, [sort]);
}

const asRead = (row: RenderRow) => renderOf(row);

interface EndedProps {
  readonly filter: EndedFilter;
  readonly current: string | undefined;
  readonly open: (id: string) => void;
  readonly sorting: Sorting;
}

export function Ended({ filter, current, open, sorting }: EndedProps): ReactNode {
  const t = useText();
  const past = usePast();
  const q = useDeferredValue(filter.q);
  const { ended, of, day } = filter;
  const asked = useMemo<EndedFilter>(() => ({ q, ended, of, day }), [q, ended, of, day]);
  const sort = useServerSort(sorting.sort);
  const { answer, found: renders } = useLivePages("render_queue", {
    queryKey: ["ended-renders", asked],
    query: endedQuery(asked),
    list: useMemo(() => endedList(asked), [asked]),
    shownAs: asRead,
    isWanted: past === null,
    sort,
  });
  if (renders === undefined) return <Unread of={answer} />;
  if (renders.length === 0) return <Empty isSmall title={isNarrow(filter) ? t.renders.noMatch : t.renders.noneEnded} />;
  return (
    <>
      <EndedTable renders={renders} current={current} open={open} sorting={sorting} />
      <NextPage of={answer} />
    </>
  );
}

/** In the past nothing is sorted: its renders are folded, not read. */
export function EndedTable({
  renders,
  current,
  open,
  sorting,
}: {
  renders: readonly Render[];
  current: string | undefined;
  open: (id: string) => void;
  sorting?: Sorting;
}): ReactNode {
  const t = useText();
  const format = useFormat();
  const columns: Column<Render>[] = [
    { ...renderColumn(t, open), sort: { by: "composition_name" }, className: "w-[28%]" },
    {
      id: "status",
      header: t.renders.state,
      cell: (render) => (
        <span className="flex items-center gap-2">
          <RenderBadge status={render.status} />
          {render.status === "failed" && render.error_code !== null && (
            <span className="truncate text-ink-2" title={render.error_message ?? undefined}>
              {faultText(t, render.error_code)}
            </span>
          )}
          {render.status === "completed" && render.unmapped_fields.length > 0 && (
            <span className="truncate text-held-ink">{t.renders.unmappedCount(render.unmapped_fields.length)}</span>
          )}
        </span>
      ),
    },
    { ...cueColumn(t), className: "w-[9%] text-ink-2 @max-4xl:hidden" },
    { ...dayColumn(t), sort: { by: "broadcast_date", isDownFirst: true } },
    {
      id: "took",
      header: t.renders.took,
      className: "w-24 text-right text-ink-2",
      cell: (render) =>
        render.duration_seconds === null ? "–" : format.duration(Math.round(render.duration_seconds) * 1000),
    },
    {
      id: "size",
      header: t.renders.size,
      className: "w-24 text-right text-ink-2 @max-4xl:hidden",
      cell: (render) => (render.output_size_bytes === null ? "–" : t.renders.bytes(render.output_size_bytes)),
    },
    {
      id: "when",
      header: t.renders.ended,
      className: "w-28 text-right text-ink-3",
      cell: (render) => <Ago at={render.updated_at} />,
    },
    {
      id: "actions",
      header: "",
      className: "w-14 text-right",
      cell: (render) => <RenderActions render={render} isSmall />,
    },
  ];
  return (
    <DataTable
      label={t.renders.endedTitle}
      columns={columns}
      rows={renders}
      current={current}
      open={open}
      sorting={sorting}
    />
  );
}
