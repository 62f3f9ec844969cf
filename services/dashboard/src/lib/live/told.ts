/** What `GET /api/stream` says: where to begin, rows that changed, what to read again, and that nothing moves. */

/** A row as `/rest/v1` shows it. */
export type AnyRow = Readonly<Record<string, unknown>>;

export interface RowsHello {
  /** For `Drover-Min-Position`: what is read with it, and then the stream, leave no gap. */
  readonly min_position: string;
  readonly relations: Readonly<Record<string, { readonly key: readonly string[] }>>;
}

export interface RowsTold {
  readonly relation: string;
  readonly rows: readonly AnyRow[];
  /** Keys of rows that are no more. */
  readonly gone: readonly (readonly unknown[])[];
}

export interface RowsReset {
  readonly relations: readonly string[];
  readonly min_position: string;
}

export interface RowsLag {
  readonly context: string;
  readonly stale: boolean;
}

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
