/** A server for tests of what is live: rows to read, and a stream that the test writes. */
import type { Server } from "../rest/read";
import { ApiError, NetworkError } from "../session/errors";

export class FakeStream {
  readonly headers: Headers;
  readonly response: Response;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(init: RequestInit) {
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

  hello(position: string): void {
    const minPosition = position.replaceAll(/\.\d+/g, "");
    this.write(`id: ${position}\nevent: hello\ndata: ${JSON.stringify({ position, min_position: minPosition })}\n\n`);
  }

  event(id: string, type: string, fields: object): void {
    const at = "2026-11-16T09:00:00.000000Z";
    this.write(
      `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, at, by: "", cause: "", n: 1, ...fields })}\n\n`,
    );
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
    if (path !== "/api/events/stream") throw new Error(`not expected: ${path}`);
    const refusal = this.refusals.shift();
    if (refusal === "network") throw new NetworkError("gone");
    if (refusal !== undefined) throw new ApiError(refusal, "REFUSED", "no");
    const stream = new FakeStream(init);
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
