// @vitest-environment happy-dom
/** What stands where there is nothing to show. */
import { afterEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { ApiError } from "@/lib/session/errors";
import { ErrorState } from "./states";

afterEach(() => document.body.replaceChildren());

const shown = async (error: unknown): Promise<TestPage> => {
  const page = new TestPage();
  await page.show("viewer", <ErrorState error={error} retry={() => {}} />);
  return page;
};

test("tables that are being made after an upgrade are no fault, and it says how far they are", async () => {
  const details = { context: "fleet", position: 250, end: 1000 };
  const page = await shown(new ApiError(503, "READ_MODEL_REBUILDING", "…", details));
  expect(page.text).toContain("25% done");
  expect(page.text).not.toContain("Something went wrong");
  expect(document.querySelector("[role=status]")).not.toBeNull();
  expect(document.querySelector("[role=alert], button")).toBeNull();
});

test("another 503 is a fault with a way on", async () => {
  const page = await shown(new ApiError(503, "UNAVAILABLE", "…"));
  expect(page.text).toContain("Something went wrong");
  expect(document.querySelector("[role=alert] button")).not.toBeNull();
});
