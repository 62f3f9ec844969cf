/**
 * Rows and columns, aligned; on a narrow card each row is a title with the rest below it. A row can be opened by click,
 * by Enter, or by going through them with j and k.
 */
import { memo, type ReactNode, useCallback, useRef } from "react";
import { useKeys } from "@/lib/keys/use-keys";
import { nextSort, type Sort, type SortValue, sorted } from "@/lib/sort/sort";
import { Icon } from "./icon";
import { useTableText } from "./table-text";
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
  /** Set for columns that the table can be sorted by. */
  readonly sort?: Sortable<Row>;
}

export interface Sortable<Row> {
  /** As the address has it; for lists of the server the name of the column there. */
  readonly by: string;
  /** Largest or newest first, when its head is pressed for the first time. */
  readonly isDownFirst?: boolean;
  /** For rows that are all there. */
  readonly value?: (row: Row) => SortValue;
}

export interface Sorting {
  readonly sort: Sort | undefined;
  /** Undefined: the default order. */
  readonly change: (sort: Sort | undefined) => void;
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
  readonly sorting?: Sorting | undefined;
}

export function DataTable<Row extends { readonly id: string }>(props: DataTableProps<Row>): ReactNode {
  const { label, columns, rows, current, open, selecting, sorting } = props;
  useKeys(open === undefined ? {} : { j: () => step(1), k: () => step(-1) });
  const title = (columns.find((column) => column.isTitle) ?? columns[0])?.id;
  const partOf = (id: string) => (id === title ? "stacks-title" : "");
  const latest = useRef(selecting);
  latest.current = selecting;
  const select = useCallback((id: string, isSelected: boolean) => {
    latest.current?.onChange({ ...latest.current.selected, [id]: isSelected });
  }, []);

  const table = (
    <table aria-label={label} className="stacks w-full table-fixed border-collapse text-sm">
      <thead>
        <tr className="border-b border-line text-left text-xs text-ink-3">
          {selecting !== undefined && (
            <th scope="col" className="stacks-select w-9 py-2 pl-4">
              <SelectAll rows={rows} selecting={selecting} />
            </th>
          )}
          {columns.map(({ id, header, isHeaderHidden, sort, className = "" }) => (
            <th
              key={id}
              scope="col"
              aria-sort={sorting !== undefined && sort !== undefined ? ariaSort(sorting.sort, sort.by) : undefined}
              className={`px-3 py-2 font-medium text-ink-3! first:pl-4 last:pr-4 ${partOf(id)} ${className}`}
            >
              {sorting !== undefined && sort !== undefined ? (
                <SortButton header={header} by={sort} sorting={sorting} />
              ) : isHeaderHidden ? (
                <span className="sr-only">{header}</span>
              ) : (
                header
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <TableRow
            key={row.id}
            row={row}
            index={index}
            columns={columns}
            title={title}
            isCurrent={row.id === current}
            open={open}
            selectLabel={selecting?.select(row)}
            isSelected={selecting?.selected[row.id] === true}
            select={select}
          />
        ))}
      </tbody>
    </table>
  );
  if (sorting === undefined) return table;
  return (
    <>
      <SortChoice columns={columns} sorting={sorting} />
      {table}
    </>
  );
}

interface TableRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  /** The column with its name. */
  readonly title: string | undefined;
  readonly isCurrent: boolean;
  readonly open: ((id: string) => void) | undefined;
  /** Undefined: it cannot be selected. */
  readonly selectLabel: string | undefined;
  readonly isSelected: boolean;
  readonly select: (id: string, isSelected: boolean) => void;
}

/**
 * Where the columns stay the same object, a row is drawn anew only when it has changed: of a hundred rows, opening one
 * draws two.
 */
const TableRow = memo(function TableRow<Row extends { readonly id: string }>(props: TableRowProps<Row>): ReactNode {
  const { row, index, columns, title, isCurrent, open, selectLabel, isSelected, select } = props;
  return (
    <tr
      {...(open === undefined ? {} : { [OPENS]: "" })}
      aria-current={isCurrent ? "true" : undefined}
      className={`border-b border-line last:border-b-0 hover:bg-hover aria-[current=true]:bg-accent-soft ${open === undefined ? "" : "cursor-pointer"}`}
      onClick={(event) => isOnControl(event.target) || open?.(row.id)}
    >
      {selectLabel !== undefined && (
        <td className="stacks-select py-2 pl-4">
          <Checkbox label={selectLabel} isChecked={isSelected} onChange={(isChecked) => select(row.id, isChecked)} />
        </td>
      )}
      {columns.map(({ id, header, isNamed, cell, className = "" }) => (
        <td
          key={id}
          data-name={isNamed ? header : undefined}
          className={`h-10 truncate px-3 first:pl-4 last:pr-4 ${id === title ? "stacks-title" : ""} ${className}`}
        >
          {cell(row, index)}
        </td>
      ))}
    </tr>
  );
}) as <Row extends { readonly id: string }>(props: TableRowProps<Row>) => ReactNode;

/** Rows that are all there, sorted by one of the columns; else as they are. */
export function sortedBy<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const value = columns.find((column) => column.sort !== undefined && column.sort.by === sort?.by)?.sort?.value;
  return sort === undefined || value === undefined ? rows : sorted(rows, value, sort.isDown);
}

function ariaSort(sort: Sort | undefined, by: string): "ascending" | "descending" | "none" {
  if (sort?.by !== by) return "none";
  return sort.isDown ? "descending" : "ascending";
}

function SortButton<Row>({ header, by, sorting }: { header: string; by: Sortable<Row>; sorting: Sorting }): ReactNode {
  const { sort, change } = sorting;
  const isSorted = sort?.by === by.by;
  return (
    <button
      type="button"
      className={`group inline-flex max-w-full items-center gap-1 rounded hover:text-ink ${isSorted ? "text-ink" : ""}`}
      onClick={() => change(nextSort(sort, by.by, by.isDownFirst === true))}
    >
      <span className="truncate">{header}</span>
      <Icon
        name={isSorted && sort.isDown ? "sortDown" : "sortUp"}
        className={`size-3 ${isSorted ? "" : "opacity-0 group-hover:opacity-60 group-focus-visible:opacity-60"}`}
      />
    </button>
  );
}

/** Where the heads of columns have no room. */
function SortChoice<Row>({ columns, sorting }: { columns: readonly Column<Row>[]; sorting: Sorting }): ReactNode {
  const { tables } = useTableText();
  const { sort, change } = sorting;
  const choices = columns.flatMap(({ header, sort: by }) =>
    by === undefined
      ? []
      : [false, true].map((isDown) => ({
          by: by.by,
          isDown,
          label: `${header}, ${isDown ? tables.descending : tables.ascending}`,
        })),
  );
  const at = choices.findIndex((choice) => choice.by === sort?.by && choice.isDown === sort.isDown);
  return (
    <label className="stacks-sort">
      <span>{tables.sortBy}</span>
      <select
        className="h-8 min-w-0 rounded-md border border-line-strong bg-surface px-2 text-sm text-ink pointer-coarse:h-9"
        value={at}
        onChange={(event) => {
          const choice = choices[Number(event.target.value)];
          change(choice && { by: choice.by, isDown: choice.isDown });
        }}
      >
        <option value={-1}>{tables.standardOrder}</option>
        {choices.map((choice, index) => (
          <option key={choice.label} value={index}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
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
