/** What the server is asked for when a table is exported. */
import { expect, test } from "vitest";
import { addressOf } from "./export";

test("an export asks for all rows of the list, in its order, and not for a page", () => {
  const query = { status: "eq.failed", order: "created_at.desc", limit: 50 };
  expect(addressOf({ relation: "jobs", query }, "csv")).toBe(
    "/rest/v1/export/jobs.csv?status=eq.failed&order=created_at.desc",
  );
  expect(addressOf({ path: "/api/audit/export", query: {} }, "json")).toBe("/api/audit/export.json");
});
