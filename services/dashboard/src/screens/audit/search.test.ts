import { expect, test } from "vitest";
import { auditSearch, pathOf } from "./search";

const NOON = Date.parse("2026-11-17T12:00:00Z");

test("an address says who, which kind and since when; what is not known is dropped", () => {
  expect(auditSearch({ by: "user:kim", kind: "film", range: "day" })).toEqual({
    by: "user:kim",
    kind: "film",
    range: "day",
  });
  expect(auditSearch({ by: "", kind: "gossip", range: "century" })).toEqual({});
});

test("a list without filters asks for everything", () => {
  expect(pathOf({}, NOON, null)).toBe("/api/audit");
});

test("a range begins so long before now", () => {
  expect(pathOf({ range: "day" }, NOON, null)).toBe("/api/audit?from=2026-11-16T12%3A00%3A00.000Z");
});

test("the next page has the same filters", () => {
  expect(pathOf({ by: "user:kim", kind: "film" }, NOON, "abc")).toBe("/api/audit?by=user%3Akim&kind=film&cursor=abc");
});
