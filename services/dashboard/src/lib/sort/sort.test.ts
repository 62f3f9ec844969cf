/** Sorting: in the address, in memory, and page by page. */
import { expect, test } from "vitest";
import { nextSort, sorted, sortedPage, sortIn, sortText } from "./sort";

test("an address names a column that can be sorted by, and which way", () => {
  expect(sortIn("title", ["title"])).toEqual({ by: "title", isDown: false });
  expect(sortIn("title.desc", ["title"])).toEqual({ by: "title", isDown: true });
  for (const odd of [undefined, "", "secret", "title.up", "title.desc.x"])
    expect(sortIn(odd, ["title"])).toBeUndefined();
  expect(sortText({ by: "title", isDown: true })).toBe("title.desc");
});

test("a head is pressed once for its own way, again for the other, and a third time for the default", () => {
  const first = nextSort(undefined, "at", true);
  const second = nextSort(first, "at", true);
  expect([first, second, nextSort(second, "at", true)]).toEqual([
    { by: "at", isDown: true },
    { by: "at", isDown: false },
    undefined,
  ]);
  expect(nextSort(first, "title", false)).toEqual({ by: "title", isDown: false });
});

test("rows without a value are last, whichever way, and numbers in texts count as numbers", () => {
  const rows = ["PC-10", null, "PC-2"];
  expect(sorted(rows, (row) => row, false)).toEqual(["PC-2", "PC-10", null]);
  expect(sorted(rows, (row) => row, true)).toEqual(["PC-10", "PC-2", null]);
});

test("a page begins after the last row of the page before, also where values are the same or null", () => {
  const up = { by: "title", isDown: false, isNullable: true };
  const down = { ...up, isDown: true };
  expect(sortedPage(up, null, 50)).toEqual({ order: "title,id", limit: 50 });
  expect(sortedPage(up, ["a,b", "7"], 50)["and"]).toBe(
    '(or(title.gt."a,b",and(title.eq."a,b",id.gt."7"),title.is.null))',
  );
  expect(sortedPage(up, [null, "7"], 50)["and"]).toBe('(title.is.null,id.gt."7")');
  expect(sortedPage(down, ["a", "7"], 50)["and"]).toBe('(or(title.lt."a",and(title.eq."a",id.lt."7")))');
  expect(sortedPage(down, [null, "7"], 50)["and"]).toBe('(or(and(title.is.null,id.lt."7"),title.not.is.null))');
  expect(sortedPage({ by: "id", isDown: true, isNullable: false }, [7, 7], 50)).toEqual({
    order: "id.desc",
    limit: 50,
    and: '(id.lt."7")',
  });
});
