/** Rows by id that can be watched: one by one, by what they belong to, or all of them. Tells of changes once a frame. */
import type { Frames } from "./frame";

const ALL = "all";

export class Table<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #topics = new Topics();
  readonly #frames: Frames;
  readonly #topicOf: ((row: Row) => string | null) | undefined;

  /** `topicOf`: what a row belongs to; whoever watches that is told of each row's changes. */
  constructor(frames: Frames, topicOf?: (row: Row) => string | null) {
    this.#frames = frames;
    this.#topicOf = topicOf;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  values(): MapIterator<Row> {
    return this.#rows.values();
  }

  entries(): MapIterator<[string, Row]> {
    return this.#rows.entries();
  }

  keys(): MapIterator<string> {
    return this.#rows.keys();
  }

  set(id: string, row: Row): void {
    const before = this.#rows.get(id);
    if (before === row) return;
    this.#rows.set(id, row);
    this.#note(id, before, row);
  }

  delete(id: string): void {
    const before = this.#rows.get(id);
    if (before === undefined) return;
    this.#rows.delete(id);
    this.#note(id, before, undefined);
  }

  clear(): void {
    for (const id of [...this.#rows.keys()]) this.delete(id);
  }

  /** One row. */
  readonly watchRow = (id: string, listener: () => void): (() => void) => this.#topics.watch(`row ${id}`, listener);

  /** All rows that belong to this. */
  readonly watchTopic = (topic: string, listener: () => void): (() => void) =>
    this.#topics.watch(`of ${topic}`, listener);

  readonly watchAll = (listener: () => void): (() => void) => this.#topics.watch(ALL, listener);

  /** Grows with every change of a row that belongs to this. */
  readonly topicVersion = (topic: string): number => this.#topics.version(`of ${topic}`);

  /** Grows with every change. */
  readonly version = (): number => this.#topics.version(ALL);

  /** Says that a topic changed although no row of its own did. */
  touch(topic: string): void {
    this.#topics.mark(`of ${topic}`);
    this.#frames.request(this.#tell);
  }

  #note(id: string, before: Row | undefined, after: Row | undefined): void {
    this.#topics.markQuietly(`row ${id}`);
    this.#topics.mark(ALL);
    for (const row of [before, after]) {
      const topic = row === undefined ? null : (this.#topicOf?.(row) ?? null);
      if (topic !== null) this.#topics.mark(`of ${topic}`);
    }
    this.#frames.request(this.#tell);
  }

  readonly #tell = (): void => this.#topics.tell();
}

/** Who listens to what, and how often it has changed. */
class Topics {
  readonly #versions = new Map<string, number>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #marked = new Set<string>();

  watch(topic: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(topic, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
    };
  }

  version(topic: string): number {
    return this.#versions.get(topic) ?? 0;
  }

  mark(topic: string): void {
    this.#versions.set(topic, this.version(topic) + 1);
    this.markQuietly(topic);
  }

  /** Without counting: of a row there is the row itself to compare. */
  markQuietly(topic: string): void {
    if (this.#listeners.has(topic)) this.#marked.add(topic);
  }

  tell(): void {
    const marked = [...this.#marked];
    this.#marked.clear();
    for (const topic of marked) for (const listener of [...(this.#listeners.get(topic) ?? [])]) listener();
  }
}
