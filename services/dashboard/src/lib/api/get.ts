/** Reading `/api`, with the types of the published contract: what the path needs, and what comes back. */
import type { Server } from "../rest/read";
import type { paths } from "./schema";

type Answered<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

type InPath<P extends keyof paths> = paths[P] extends { get: { parameters: { path: infer Parts extends object } } }
  ? Parts
  : Record<never, never>;

/** What can be read. */
export type Readable = { [P in keyof paths]: [Answered<P>] extends [never] ? never : P }[keyof paths];

export function get<P extends Readable>(server: Server, path: P, parts: InPath<P>): Promise<Answered<P>> {
  return server.json<Answered<P>>(filled(path, parts as Readonly<Record<string, string | number>>));
}

export function filled(path: string, parts: Readonly<Record<string, string | number>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parts[name])));
}
