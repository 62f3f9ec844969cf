// @vitest-environment happy-dom
/** While the server computes a moment, the page shows how far it is. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { Computing } from "./computing";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => document.body.replaceChildren());

const bar = () => document.querySelector('[role="progressbar"]');

test("a quarter is shown as a quarter", async () => {
  await page.show("viewer", <Computing share={0.25} />);
  expect(page.text).toContain("25 %");
  expect(bar()?.getAttribute("aria-valuenow")).toBe("25");
});

test("what is not known is not claimed", async () => {
  await page.show("viewer", <Computing share={null} />);
  expect(page.text).not.toContain("%");
  expect(bar()?.hasAttribute("aria-valuenow")).toBe(false);
});
