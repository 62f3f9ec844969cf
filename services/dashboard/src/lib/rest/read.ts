/** Reading `/rest/v1`: one page, or all pages of a relation in the order of its id. */

/** What is needed of `SessionClient`. */
export interface Server {
  json<T>(path: string, init?: RequestInit): Promise<T>;
  request(path: string, init?: RequestInit): Promise<Response>;
}

export type Query = Readonly<Record<string, string | number>>;

export interface ReadOptions {
  /** The read waits until the rows are at least as new as this: `fleet=123`. */
  readonly minPosition?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** As many rows as the server gives at once. */
export const PAGE_ROWS = 1000;

export function rows<T>(server: Server, relation: string, query: Query, options: ReadOptions = {}): Promise<T[]> {
  const headers = options.minPosition === undefined ? {} : { "Drover-Min-Position": options.minPosition };
  const init: RequestInit = options.signal === undefined ? { headers } : { headers, signal: options.signal };
  return server.json<T[]>(`/rest/v1/${relation}?${search(query)}`, init);
}

/** Page by page, each beginning after the last id of the one before: rows that come and go in between do no harm. */
export async function* pages<T extends { readonly id: string }>(
  server: Server,
  relation: string,
  query: Query,
  options: ReadOptions = {},
): AsyncGenerator<T[], void> {
  let after: string | undefined;
  while (true) {
    const from: Query = after === undefined ? {} : { id: `gt.${after}` };
    const page = await rows<T>(server, relation, { ...query, ...from, order: "id", limit: PAGE_ROWS }, options);
    if (page.length > 0) yield page;
    if (page.length < PAGE_ROWS) return;
    after = page.at(-1)?.id;
  }
}

/** One page of a list by `created_at`. `after`: the time of the last row of the page before; empty: the first page. */
export function keysetPage(after: string, limit: number, isOldestFirst = false): Query {
  const [beyond, order] = isOldestFirst ? ["gt", "created_at"] : ["lt", "created_at.desc"];
  return { ...(after === "" ? {} : { created_at: `${beyond}.${after}` }), order, limit };
}

/** `in.(…)` of ids, which need no quotes. */
export function oneOf(ids: Iterable<string>): string {
  return `in.(${[...ids].join(",")})`;
}

/** A text of a person for `ilike`: anywhere in it, and its own `*`, quotes and commas mean themselves. */
export function containing(text: string): string {
  return `ilike.*${text.replace(/[\\%_*]/g, " ").trim()}*`;
}

export function search(query: Query): string {
  return new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)])).toString();
}
