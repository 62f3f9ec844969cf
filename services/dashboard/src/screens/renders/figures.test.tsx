// @vitest-environment happy-dom
/** The number of renders that wait is that of the list under it, not that of an older read. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { Figures } from "./figures";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
  const { answers } = page.given.server;
  const read = { pending_count: 1, avg_duration_seconds: null, success_rate: null };
  answers.set("/rest/v1/render_figures?", () => Response.json([read]));
  answers.set("/rest/v1/render_workers?order=worker_id&limit=200", () => Response.json([]));
});

afterEach(() => {
  document.body.replaceChildren();
});

test.each([
  [undefined, false, "…"],
  [0, false, "0"],
  [3, false, "3"],
  [1_000, true, "1,000+"],
])("with %s in the list, more than it holds: %s, it says %s", async (waiting, isMore, said) => {
  await page.show("viewer", <Figures waiting={waiting} isMore={isMore} open={() => {}} />);
  const figure = [...document.querySelectorAll("section")].find((one) => one.textContent?.startsWith("Waiting"));
  expect(figure?.querySelector("p")?.textContent).toBe(said);
});
