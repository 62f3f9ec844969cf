/** Saves a table as a file: made by the server, with the filters of the list, or from rows that are in this page. */
import type { Query, Server } from "../rest/read";
import { search } from "../rest/read";
import { csvOf, jsonOf } from "./csv";

export type ExportFormat = "csv" | "json";

/** What to export. */
export type Exported =
  | { readonly relation: string; readonly query: Query }
  /** `path`: without its ending. */
  | { readonly path: string; readonly query: Query }
  | { readonly name: string; readonly rows: readonly object[] };

export interface Saved {
  readonly rows: number;
  /** The server has more than it may give. */
  readonly isCut: boolean;
}

export function addressOf(what: Exclude<Exported, { rows: unknown }>, format: ExportFormat): string {
  const { limit: _limit, offset: _offset, ...query } = what.query;
  const path = "path" in what ? what.path : `/rest/v1/export/${what.relation}`;
  const asked = search(query);
  return `${path}.${format}${asked === "" ? "" : `?${asked}`}`;
}

export async function save(server: Server, what: Exported, format: ExportFormat): Promise<Saved> {
  if ("rows" in what) {
    const text = format === "csv" ? csvOf(what.rows) : jsonOf(what.rows);
    download(new Blob([text]), `${what.name}.${format}`);
    return { rows: what.rows.length, isCut: false };
  }
  const answer = await server.request(addressOf(what, format));
  const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
  download(await answer.blob(), name ?? `export.${format}`);
  return {
    rows: Number(answer.headers.get("Drover-Export-Rows") ?? 0),
    isCut: answer.headers.get("Drover-Export-Cut") === "true",
  };
}

/** Long enough for the browser to have begun. */
const KEPT_MS = 60_000;

function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
