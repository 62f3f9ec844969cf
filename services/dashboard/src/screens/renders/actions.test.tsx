// @vitest-environment happy-dom
/** Who may act on renders sees buttons; a viewer sees none, and nobody in the past. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PastContext } from "@/app/past";
import { TestPage } from "@/app/testing";
import type { RenderStatus } from "@/lib/rest/render-rows";
import { RenderActions } from "./actions";
import type { Render } from "./render";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const render = (status: RenderStatus) => ({ id: "41", status }) as Render;
const patches = () => page.given.server.calls.filter((call) => call.method === "PATCH");

test.each<[RenderStatus, string[]]>([
  ["pending", ["Cancel"]],
  ["rendering", ["Release", "Cancel"]],
  ["uploading", ["Release", "Cancel"]],
  ["failed", ["Run again"]],
  ["cancelled", ["Run again"]],
  ["completed", []],
])("an operator, of a render that is %s: %o", async (status, buttons) => {
  await page.show("operator", <RenderActions render={render(status)} />);
  expect(page.buttons()).toEqual(buttons);
});

test.each<RenderStatus>(["pending", "rendering", "failed"])("a viewer, of one that is %s: nothing", async (status) => {
  await page.show("viewer", <RenderActions render={render(status)} />);
  expect(page.buttons()).toEqual([]);
});

test.each<RenderStatus>(["pending", "rendering", "failed"])(
  "in the past, of one that was %s: nothing",
  async (status) => {
    const past = { at: 0, iso: "1970-01-01T00:00:00.000Z" };
    await page.show(
      "admin",
      <PastContext value={past}>
        <RenderActions render={render(status)} />
      </PastContext>,
    );
    expect(page.buttons()).toEqual([]);
  },
);

test("cancelling is asked about, and done when it is meant", async () => {
  await page.show("operator", <RenderActions render={render("rendering")} />);
  await page.press("Cancel");
  await page.settle();
  expect(page.text).toContain("Cancel this render?");
  expect(patches()).toEqual([]);
  await page.press("Cancel the render");
  await page.settle();
  expect(patches()).toMatchObject([{ path: "/rest/v1/render_queue?id=in.(41)", body: '{"status":"cancelled"}' }]);
  expect(patches()[0]?.headers.get("Idempotency-Key")).toBeTruthy();
});

test("releasing it is asked about, too", async () => {
  await page.show("operator", <RenderActions render={render("rendering")} />);
  await page.press("Release");
  await page.settle();
  await page.press("Keep");
  await page.settle();
  expect(patches()).toEqual([]);
  await page.press("Release");
  await page.settle();
  await page.press("Release the render");
  await page.settle();
  expect(patches()).toMatchObject([{ body: '{"status":"pending"}' }]);
});

test("running it again needs no second thought", async () => {
  await page.show("operator", <RenderActions render={render("failed")} />);
  await page.press("Run again");
  await page.settle();
  expect(patches()).toMatchObject([{ path: "/rest/v1/render_queue?id=in.(41)", body: '{"status":"pending"}' }]);
  expect(page.toasts.get()[0]).toMatchObject({ kind: "done" });
});

/** One row of the live queue, and what happens to its render. */
function LiveRow(): ReactNode {
  const queries = useQueryClient();
  const becomes = (...renders: Render[]) => queries.setQueryData(["open-renders"], renders);
  return (
    <>
      <RenderActions render={render("rendering")} />
      <button type="button" onClick={() => becomes()}>
        End it
      </button>
      <button type="button" onClick={() => becomes(render("pending"))}>
        Let go of it
      </button>
    </>
  );
}

test.each([
  ["Cancel", "End it", "This render has ended in the meantime."],
  ["Release", "End it", "Its worker has released this render in the meantime."],
  ["Release", "Let go of it", "Its worker has released this render in the meantime."],
])("a question says when it has nothing to decide any more: %s, %s", async (deed, happens, said) => {
  await page.show("operator", <LiveRow />);
  await page.press(deed);
  await page.settle();
  await page.press(happens);
  await page.says(said);
  expect(page.buttons()).not.toContain("Keep");
  expect(patches()).toEqual([]);
});

test("one that waits again can still be cancelled", async () => {
  await page.show("operator", <LiveRow />);
  await page.press("Cancel");
  await page.settle();
  await page.press("Let go of it");
  await page.press("Cancel the render");
  await page.settle();
  expect(patches()).toHaveLength(1);
});
