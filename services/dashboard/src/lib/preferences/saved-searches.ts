/** Searches that a person has given a name. Kept in this browser, by account; others get them by their link. */
import { Observable } from "../session/observable";

export interface SavedSearch {
  readonly name: string;
  /** What the address says after the `?`. */
  readonly query: string;
}

export const SAVED_MAX = 50;
export const NAME_MAX = 60;
const QUERY_MAX = 2_000;

type Storage = Pick<globalThis.Storage, "getItem" | "setItem">;

export class SavedSearches extends Observable<readonly SavedSearch[]> {
  readonly #key: string;
  readonly #storage: Storage | undefined;

  /** `screen`: whose searches they are. `user`: the id of the account. */
  constructor(screen: string, user: string, storage: Storage | undefined = browserStorage()) {
    super([]);
    this.#key = `drover.searches.${screen}.${user}`;
    this.#storage = storage;
    this.set(this.#read());
  }

  /** A search of the same name is replaced. False: there are too many. */
  save(name: string, query: string): boolean {
    const said = name.trim().slice(0, NAME_MAX);
    const others = this.#read().filter((search) => search.name !== said);
    if (said === "" || others.length >= SAVED_MAX) return false;
    this.#write([...others, { name: said, query: query.slice(0, QUERY_MAX) }]);
    return true;
  }

  remove(name: string): void {
    this.#write(this.#read().filter((search) => search.name !== name));
  }

  /** Another tab may have changed them. */
  #read(): readonly SavedSearch[] {
    try {
      const known: unknown = JSON.parse(this.#storage?.getItem(this.#key) ?? "[]");
      return Array.isArray(known) ? known.filter(isSaved).slice(0, SAVED_MAX) : [];
    } catch {
      return [];
    }
  }

  #write(searches: readonly SavedSearch[]): void {
    const ordered = searches.toSorted((a, b) => a.name.localeCompare(b.name));
    try {
      this.#storage?.setItem(this.#key, JSON.stringify(ordered));
    } catch {
      // then they are for this visit only
    }
    this.set(ordered);
  }
}

function isSaved(value: unknown): value is SavedSearch {
  if (typeof value !== "object" || value === null) return false;
  const { name, query } = value as Record<string, unknown>;
  return typeof name === "string" && name !== "" && typeof query === "string";
}

function browserStorage(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined; // a browser that keeps nothing for this page
  }
}
