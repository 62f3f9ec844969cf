/** By which column a table is sorted: as the address says it (`order=title.desc`), in rows that are there, and page by page. */
import { quoted } from "../rest/quoted";
import type { Query } from "../rest/read";

export interface Sort {
  readonly by: string;
  readonly isDown: boolean;
}

/** Undefined: not sorted, or by a column that cannot be sorted by. */
export function sortIn(said: string | undefined, columns: readonly string[]): Sort | undefined {
  const [by = "", way, ...rest] = (said ?? "").split(".");
  if (!columns.includes(by) || rest.length > 0 || (way !== undefined && way !== "desc")) return undefined;
  return { by, isDown: way === "desc" };
}

export function sortText(sort: Sort | undefined): string | undefined {
  return sort === undefined ? undefined : `${sort.by}${sort.isDown ? ".desc" : ""}`;
}

/** What a press on the head of a column leads to: its own way first, then the other way, then the default order. */
export function nextSort(sort: Sort | undefined, by: string, isDownFirst: boolean): Sort | undefined {
  if (sort?.by !== by) return { by, isDown: isDownFirst };
  return sort.isDown === isDownFirst ? { by, isDown: !isDownFirst } : undefined;
}

export type SortValue = string | number | boolean | null | undefined;

/** Rows that are all there. What has no value comes last, whichever way. */
export function sorted<Row>(rows: readonly Row[], value: (row: Row) => SortValue, isDown: boolean): readonly Row[] {
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x == null || y == null) return x == null ? (y == null ? 0 : 1) : -1;
    const way = typeof x === "string" && typeof y === "string" ? order.compare(x, y) : Number(x) - Number(y);
    return isDown ? -way : way;
  });
}

/** A column that the server sorts by: it has an index. */
export interface ServerSort extends Sort {
  /** Whether it may be null: then those rows are last upwards and first downwards, as PostgreSQL has them. */
  readonly isNullable: boolean;
}

/** The order of a whole list; undefined: newest first. */
export function orderOf(sort: Sort | undefined): string {
  if (sort === undefined) return "created_at.desc";
  const way = sort.isDown ? ".desc" : "";
  return sort.by === "id" ? `id${way}` : `${sort.by}${way},id${way}`;
}

/** The last row of a page: its value in the column, and its id. */
export type After = readonly [value: string | number | null, id: string | number];

/** One page of a sorted list, from the row after the last one of the page before. Rows of one value are in order of id. */
export function sortedPage({ by, isDown, isNullable }: ServerSort, after: After | null, limit: number): Query {
  const page: Query = { order: orderOf({ by, isDown }), limit };
  if (after === null) return page;
  const beyond = isDown ? "lt" : "gt";
  const [value, id] = after;
  const later = `id.${beyond}.${quoted(String(id))}`;
  if (by === "id") return { ...page, and: `(${later})` };
  if (value === null)
    return {
      ...page,
      and: isDown ? `(or(and(${by}.is.null,${later}),${by}.not.is.null))` : `(${by}.is.null,${later})`,
    };
  const text = quoted(String(value));
  const nulls = isNullable && !isDown ? `,${by}.is.null` : "";
  return { ...page, and: `(or(${by}.${beyond}.${text},and(${by}.eq.${text},${later})${nulls}))` };
}
