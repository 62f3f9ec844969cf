/** What `GET /api/stream` says: where to begin, rows that changed, what to read again, and that nothing moves. */
import type * as Schema from "../api/schema";

/** A row as `/rest/v1` shows it. */
export type AnyRow = Readonly<Record<string, unknown>>;

export type RowsHello = Pick<Schema.RowsHello, "min_position" | "relations">;

export type RowsTold = Pick<Schema.RowsTold, "relation"> & {
  readonly rows: readonly AnyRow[];
  readonly gone: readonly (readonly unknown[])[];
};

export type RowsReset = Pick<Schema.RowsReset, "relations" | "min_position">;

export type RowsLag = Schema.RowsLag;

/** The values of a row's key as one text. */
export function keyText(values: readonly unknown[]): string {
  return values.join("/");
}

/** Both positions in one; where both name a context the later word counts. */
export function mergePositions(before: string | undefined, after: string): string {
  const places = new Map(
    [before ?? "", after].flatMap((text) => text.split(",")).map((one) => [one.split("=")[0], one]),
  );
  return [...places.values()].filter((one) => one !== "").join(",");
}
