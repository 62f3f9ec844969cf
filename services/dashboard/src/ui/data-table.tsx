/**
 * Rows and columns, aligned; on a narrow card each row is a title with the rest below it. A row can be opened by click,
 * by Enter, or by going through them with j and k.
 */
import type { ReactNode } from "react";
import { useKeys } from "@/lib/keys/use-keys";
import "./stacks.css";

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** Read out, not seen. */
  readonly isHeaderHidden?: boolean;
  /** Called, not mounted: a new function on every render would be a new component, and its cells would lose the focus. */
  readonly cell: (row: Row, index: number) => ReactNode;
  /** What a row is called: it has a line of its own on a narrow card. The first column, unless another one says so. */
  readonly isTitle?: boolean;
  /** Says nothing without its header, so on a narrow card that stands before it. */
  readonly isNamed?: boolean;
  /** Of its cells and its header: width, alignment. */
  readonly className?: string;
}

/** On rows that can be opened. */
const OPENS = "data-opens";

/** Which rows are selected, by id. */
export type Chosen = Readonly<Record<string, boolean>>;

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
  /** Without it there is nothing to open. */
  readonly open?: ((id: string) => void) | undefined;
  readonly selecting?: Selecting<Row> | undefined;
}

export function DataTable<Row extends { readonly id: string }>(props: DataTableProps<Row>): ReactNode {
  const { label, columns, rows, current, open, selecting } = props;
  useKeys(open === undefined ? {} : { j: () => step(1), k: () => step(-1) });
  const title = (columns.find((column) => column.isTitle) ?? columns[0])?.id;
  const partOf = (id: string) => (id === title ? "stacks-title" : "");

  return (
    <table aria-label={label} className="stacks w-full table-fixed border-collapse text-sm">
      <thead>
        <tr className="border-b border-line text-left text-xs text-ink-3">
          {selecting !== undefined && (
            <th scope="col" className="stacks-select w-9 py-2 pl-4">
              <SelectAll rows={rows} selecting={selecting} />
            </th>
          )}
          {columns.map(({ id, header, isHeaderHidden, className = "" }) => (
            <th
              key={id}
              scope="col"
              className={`px-3 py-2 font-medium text-ink-3! first:pl-4 last:pr-4 ${partOf(id)} ${className}`}
            >
              {isHeaderHidden ? <span className="sr-only">{header}</span> : header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr
            key={row.id}
            {...(open === undefined ? {} : { [OPENS]: "" })}
            aria-current={row.id === current ? "true" : undefined}
            className={`border-b border-line last:border-b-0 hover:bg-hover aria-[current=true]:bg-accent-soft ${open === undefined ? "" : "cursor-pointer"}`}
            onClick={(event) => isOnControl(event.target) || open?.(row.id)}
          >
            {selecting !== undefined && (
              <td className="stacks-select py-2 pl-4">
                <Checkbox
                  label={selecting.select(row)}
                  isChecked={selecting.selected[row.id] === true}
                  onChange={(isChecked) => selecting.onChange({ ...selecting.selected, [row.id]: isChecked })}
                />
              </td>
            )}
            {columns.map(({ id, header, isNamed, cell, className = "" }) => (
              <td
                key={id}
                data-name={isNamed ? header : undefined}
                className={`h-10 truncate px-3 first:pl-4 last:pr-4 ${partOf(id)} ${className}`}
              >
                {cell(row, index)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SelectAll<Row extends { readonly id: string }>({
  rows,
  selecting,
}: {
  rows: readonly Row[];
  selecting: Selecting<Row>;
}): ReactNode {
  const count = rows.filter((row) => selecting.selected[row.id]).length;
  const isAll = count > 0 && count === rows.length;
  return (
    <Checkbox
      label={selecting.selectAll}
      isChecked={isAll}
      isPartly={count > 0 && !isAll}
      onChange={(isChecked) =>
        selecting.onChange(isChecked ? Object.fromEntries(rows.map((row) => [row.id, true])) : {})
      }
    />
  );
}

function Checkbox({
  label,
  isChecked,
  isPartly = false,
  onChange,
}: {
  label: string;
  isChecked: boolean;
  isPartly?: boolean;
  onChange: (isChecked: boolean) => void;
}): ReactNode {
  return (
    // Around it there is room for a finger.
    <label className="-my-2 -ml-2 block w-fit p-2 pr-1">
      <input
        type="checkbox"
        aria-label={label}
        className="block size-4 accent-(--accent)"
        checked={isChecked}
        ref={(box) => {
          if (box !== null) box.indeterminate = isPartly;
        }}
        onChange={(event) => onChange(event.target.checked)}
      />
    </label>
  );
}

/** To the row after the open one, or before it. A screen may have several tables: they are gone through as one. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>(`tr[${OPENS}]`)];
  const at = rows.findIndex((row) => row.getAttribute("aria-current") === "true");
  rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))]?.click();
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
