/** A server for tests of what is live: rows to read, and a stream that the test writes. */
import type { Server } from "../rest/read";
import { ApiError, NetworkError } from "../session/errors";

export class FakeStream {
  readonly headers: Headers;
  readonly response: Response;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** Those that were asked for. */
  readonly relations: readonly string[];

  constructor(path: string, init: RequestInit) {
    this.relations = new URL(path, "http://platform").searchParams.get("relations")?.split(",") ?? [];
    this.headers = new Headers(init.headers);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    this.response = new Response(body);
    init.signal?.addEventListener("abort", () => this.break());
  }

  write(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  /** Of the stream of rows: where it stands, as far as the server says. */
  hello(minPosition: string, relations: readonly string[] = this.relations): void {
    const told = Object.fromEntries(relations.map((name) => [name, {}]));
    this.#say("hello", { min_position: minPosition, relations: told }, minPosition);
  }

  rows(relation: string, rows: readonly object[], gone: readonly unknown[][] = [], id = "told"): void {
    this.#say("rows", { relation, context: "fleet", to: 1, rows, gone }, id);
  }

  reset(relations: readonly string[], minPosition: string): void {
    this.#say("reset", { relations, min_position: minPosition, why: "hole" }, "reset");
  }

  lag(context: string, stale: boolean): void {
    this.write(`event: lag\ndata: ${JSON.stringify({ context, stale })}\n\n`);
  }

  /** Of the stream of events. */
  eventsHello(position: string): void {
    const min_position = position.replaceAll(/\.\d+/g, "");
    this.#say("hello", { position, min_position }, position);
  }

  event(id: string, type: string, fields: object): void {
    const at = "2026-11-16T09:00:00.000000Z";
    this.write(
      `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, at, by: "", cause: "", n: 1, ...fields })}\n\n`,
    );
  }

  #say(name: string, data: object, id: string): void {
    this.write(`id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  close(): void {
    this.#controller?.close();
  }

  break(): void {
    try {
      this.#controller?.error(new TypeError("network error"));
    } catch {
      // it was closed
    }
  }
}

export class FakePlatform implements Server {
  readonly streams: FakeStream[] = [];
  readonly reads: { readonly path: string; readonly headers: Headers }[] = [];
  /** Rows by relation. */
  rows: Record<string, readonly object[]> = {};
  /** What the next opening of the stream meets. */
  refusals: (number | "network")[] = [];
  /** Reads wait for it. */
  gate: Promise<void> = Promise.resolve();

  get stream(): FakeStream {
    const last = this.streams.at(-1);
    if (last === undefined) throw new Error("no stream was opened");
    return last;
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    if (!/^\/api\/(stream\?|events\/stream$)/.test(path)) throw new Error(`not expected: ${path}`);
    const refusal = this.refusals.shift();
    if (refusal === "network") throw new NetworkError("gone");
    if (refusal !== undefined) throw new ApiError(refusal, "REFUSED", "no");
    const stream = new FakeStream(path, init);
    this.streams.push(stream);
    return stream.response;
  }

  async json<T>(path: string, init: RequestInit = {}): Promise<T> {
    this.reads.push({ path, headers: new Headers(init.headers) });
    await this.gate;
    const url = new URL(path, "http://platform");
    const relation = url.pathname.replace("/rest/v1/", "");
    const after = url.searchParams.get("id");
    const all = (this.rows[relation] ?? []) as readonly { id: string }[];
    const from = after?.startsWith("gt.") ? all.filter((row) => row.id > after.slice(3)) : all;
    const named = after?.startsWith("in.(") ? all.filter((row) => after.includes(row.id)) : from;
    return named.slice(0, Number(url.searchParams.get("limit") ?? 1000)) as T;
  }
}
