/** One relation that the page keeps: read whole, then followed row by row. */
import type { ReadOptions } from "../rest/read";
import { inSlices } from "./slices";
import { type AnyRow, keyText, type RowsTold } from "./told";

/** Where the rows of a relation go. */
export interface Sink<Row = AnyRow> {
  /** All rows that belong here, in as many parts as they come. */
  read(options: ReadOptions): AsyncIterable<readonly Row[]>;
  /** Before the first row of a read is put. */
  begin?(): void;
  /** A row that was read. */
  put(row: Row): void;
  /** A row that was told: it may be older than the one that was read, and may not belong here. */
  tell(row: Row): void;
  remove(key: string): void;
  keys(): Iterable<string>;
}

export class Followed {
  readonly #sink: Sink;
  readonly #key: readonly string[];
  /** What is told while the rows are read. Null: it is applied as it comes. */
  #waiting: RowsTold[] | null = null;
  /** A read is due that has not begun. */
  #isWanted = false;

  constructor(sink: Sink, key: readonly string[] = ["id"]) {
    this.#sink = sink;
    this.#key = key;
  }

  async told(told: RowsTold): Promise<void> {
    if (this.#waiting === null) await this.#apply(told);
    else this.#waiting.push(told);
  }

  /**
   * It is to be read soon. What is told from now on waits for it; what was told before is in it, and must not be applied
   * after it, since something that followed may be lost.
   */
  hold(): void {
    this.#waiting = [];
    this.#isWanted = true;
  }

  /** What was known stays until its row is read or proves to be gone. */
  async read(options: ReadOptions): Promise<void> {
    this.#waiting ??= [];
    this.#isWanted = false;
    try {
      await this.#readAll(options);
    } finally {
      await this.#release();
    }
  }

  /** Also after a read that failed: another one follows, so that nothing of this can do harm. */
  async #release(): Promise<void> {
    while (!this.#isWanted && this.#waiting !== null) {
      const told = this.#waiting.shift();
      if (told === undefined) this.#waiting = null;
      else await this.#apply(told);
    }
  }

  async #readAll(options: ReadOptions): Promise<void> {
    const seen = new Set<string>();
    for await (const page of this.#sink.read(options)) {
      if (seen.size === 0) this.#sink.begin?.();
      await inSlices(page, (row) => {
        seen.add(keyText(this.#key.map((column) => row[column])));
        this.#sink.put(row);
      });
      options.signal?.throwIfAborted();
    }
    for (const key of [...this.#sink.keys()]) if (!seen.has(key)) this.#sink.remove(key);
  }

  async #apply({ rows, gone }: RowsTold): Promise<void> {
    await inSlices(rows, (row) => this.#sink.tell(row));
    for (const key of gone) this.#sink.remove(keyText(key));
  }
}
