/** Addresses hold what a screen shows, in plain words: `?show=error&q=PC-01`. What is not known is dropped. */
import { sortIn, sortText } from "@/lib/sort/sort";

export type RawSearch = Readonly<Record<string, unknown>>;

export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: RawSearch): string {
  const said = Object.entries(search).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  const text = new URLSearchParams(said.map(([key, value]) => [key, value === true ? "1" : String(value)])).toString();
  // Commas and colons may stand in a query as they are, and read better so.
  return text === "" ? "" : `?${text.replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%2F", "/")}`;
}

export function text(raw: RawSearch, key: string): string | undefined {
  const value = raw[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function flag(raw: RawSearch, key: string): true | undefined {
  return raw[key] === "1" || raw[key] === true ? true : undefined;
}

export function choice<T extends string>(raw: RawSearch, key: string, choices: readonly T[]): T | undefined {
  return choices.find((one) => one === raw[key]);
}

/** Several, with commas. */
export function choices<T extends string>(raw: RawSearch, key: string, all: readonly T[]): string | undefined {
  const asked = text(raw, key)?.split(",") ?? [];
  const known = all.filter((one) => asked.includes(one));
  return known.length === 0 ? undefined : known.join(",");
}

/** `title.desc`, if a table can be sorted by it. */
export function sortOf(raw: RawSearch, columns: readonly string[]): string | undefined {
  return sortText(sortIn(text(raw, "order"), columns));
}

/** Leaves out what is undefined: an address has no empty words. */
export function only<T extends object>(search: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as never;
}
