/** `?as_of=`: the moment that all screens show. */
import type { Past } from "./past";
import { only, type RawSearch, text } from "./search-params";

/** With its zone: a moment, wherever it is read. */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})$/;

export function pastSearch(raw: RawSearch) {
  const wanted = text(raw, "as_of");
  // A plus in an address is a space, unless it was written with care.
  const value = wanted?.replace(/ (?=\d{2}:\d{2}$)/, "+");
  return only({
    as_of: value !== undefined && MOMENT.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined,
  });
}

/** From one address to the next, unless that one names another moment, or says that it is the present. */
export function keepMoment<S extends { as_of?: string }>({ search, next }: { search: S; next: (search: S) => S }): S {
  const going = next(search);
  const { as_of } = pastSearch(search);
  return "as_of" in going || as_of === undefined ? going : { ...going, as_of };
}

/** Null: it is the present, or has yet to come. */
export function pastOf(asOf: string | undefined, now: number): Past | null {
  if (asOf === undefined) return null;
  const at = Date.parse(asOf);
  return at < now ? { at, iso: new Date(at).toISOString() } : null;
}
