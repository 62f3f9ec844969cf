/** Rows and columns, aligned. A row can be opened by click, by Enter, or by going through them with j and k. */
import {
  type ColumnDef,
  type RowSelectionState,
  rowSelectionFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import type { ReactNode } from "react";
import { useKeys } from "@/lib/keys/use-keys";

const features = tableFeatures({ rowSelectionFeature });

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** Read out, not seen. */
  readonly isHeaderHidden?: boolean;
  readonly cell: (row: Row, index: number) => ReactNode;
  /** Of its cells and its header: width, alignment. */
  readonly className?: string;
}

/** Which rows are selected, by id. */
export type Chosen = RowSelectionState;

export interface Selecting<Row> {
  readonly selected: Chosen;
  readonly onChange: (selected: Chosen) => void;
  readonly selectAll: string;
  readonly select: (row: Row) => string;
}

interface DataTableProps<Row extends { readonly id: string }> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The one that is open. */
  readonly current?: string | undefined;
  readonly open: (id: string) => void;
  readonly selecting?: Selecting<Row> | undefined;
}

export function DataTable<Row extends { readonly id: string }>(props: DataTableProps<Row>): ReactNode {
  const { label, rows, current, open, selecting } = props;
  useKeys({ j: () => step(1), k: () => step(-1) });
  const table = useTable({
    features,
    data: rows as Row[],
    columns: props.columns.map(
      (column): ColumnDef<typeof features, Row> => ({
        id: column.id,
        header: () => (column.isHeaderHidden ? <span className="sr-only">{column.header}</span> : column.header),
        cell: ({ row }) => column.cell(row.original, row.index),
      }),
    ),
    getRowId: (row) => row.id,
    state: { rowSelection: selecting?.selected ?? {} },
    onRowSelectionChange: (change) => {
      const before = selecting?.selected ?? {};
      selecting?.onChange(typeof change === "function" ? change(before) : change);
    },
  });

  function step(by: number): void {
    const at = rows.findIndex((row) => row.id === current);
    const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next !== undefined) open(next.id);
  }

  const classOf = (id: string) => props.columns.find((column) => column.id === id)?.className ?? "";
  return (
    <table aria-label={label} className="w-full table-fixed border-collapse text-sm">
      <thead>
        {table.getHeaderGroups().map((group) => (
          <tr key={group.id} className="border-b border-line text-left text-xs text-ink-3">
            {selecting !== undefined && (
              <th scope="col" className="w-9 py-2 pl-4">
                <input
                  type="checkbox"
                  aria-label={selecting.selectAll}
                  className="block size-4 accent-(--accent)"
                  checked={table.getIsAllRowsSelected()}
                  ref={(box) => {
                    if (box !== null)
                      box.indeterminate = table.getIsSomeRowsSelected() && !table.getIsAllRowsSelected();
                  }}
                  onChange={table.getToggleAllRowsSelectedHandler()}
                />
              </th>
            )}
            {group.headers.map((header) => (
              <th
                key={header.id}
                scope="col"
                className={`px-3 py-2 font-medium text-ink-3! first:pl-4 last:pr-4 ${classOf(header.id)}`}
              >
                <table.FlexRender header={header} />
              </th>
            ))}
          </tr>
        ))}
      </thead>
      <tbody>
        {table.getRowModel().rows.map((row) => (
          <tr
            key={row.id}
            aria-current={row.id === current ? "true" : undefined}
            className="cursor-pointer border-b border-line last:border-b-0 hover:bg-hover aria-[current=true]:bg-accent-soft"
            onClick={(event) => isOnControl(event.target) || open(row.id)}
          >
            {selecting !== undefined && (
              <td className="py-2 pl-4">
                <input
                  type="checkbox"
                  aria-label={selecting.select(row.original)}
                  className="block size-4 accent-(--accent)"
                  checked={row.getIsSelected()}
                  onChange={row.getToggleSelectedHandler()}
                />
              </td>
            )}
            {row.getAllCells().map((cell) => (
              <td key={cell.id} className={`h-10 truncate px-3 first:pl-4 last:pr-4 ${classOf(cell.column.id)}`}>
                <table.FlexRender cell={cell} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What has its own click. */
function isOnControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest("button, a, input, label") !== null;
}

/** The name of a row, by which it is opened with the keyboard, too. */
export function RowButton({ onClick, children }: { onClick: () => void; children: ReactNode }): ReactNode {
  return (
    <button
      type="button"
      className="max-w-full truncate rounded text-left font-medium underline-offset-2 hover:underline"
      onClick={onClick}
    >
      {children}
    </button>
  );
}
