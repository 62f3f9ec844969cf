/** Searches with a name. */
import { expect, test } from "vitest";
import { SAVED_MAX, SavedSearches } from "./saved-searches";

function storage(first: Record<string, string> = {}) {
  const kept = new Map(Object.entries(first));
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
}

test("a search is there again after a reload, for the same person only", () => {
  const browser = storage();
  new SavedSearches("events", "kim", browser).save(" Night failures ", "kind=attempts");
  expect(new SavedSearches("events", "kim", browser).get()).toEqual([
    { name: "Night failures", query: "kind=attempts" },
  ]);
  expect(new SavedSearches("events", "lee", browser).get()).toEqual([]);
});

test("the same name replaces, and what was removed is gone", () => {
  const searches = new SavedSearches("events", "kim", storage());
  searches.save("b", "1");
  searches.save("a", "2");
  searches.save("b", "3");
  expect(searches.get()).toEqual([
    { name: "a", query: "2" },
    { name: "b", query: "3" },
  ]);
  searches.remove("a");
  expect(searches.get().map((search) => search.name)).toEqual(["b"]);
});

test("there is an end to it, and a name is needed", () => {
  const searches = new SavedSearches("events", "kim", storage());
  for (let n = 0; n < SAVED_MAX; n++) expect(searches.save(`search ${n}`, "")).toBe(true);
  expect(searches.save("one more", "")).toBe(false);
  expect(searches.save("search 1", "x")).toBe(true);
  expect(searches.save("  ", "")).toBe(false);
});

test("what somebody else has written there is not believed", () => {
  const searches = (text: string) =>
    new SavedSearches("events", "kim", storage({ "drover.searches.events.kim": text })).get();
  expect(searches("{")).toEqual([]);
  expect(searches('{"a":1}')).toEqual([]);
  expect(searches('[{"name":"a","query":"q"},{"name":1},null]')).toEqual([{ name: "a", query: "q" }]);
});
