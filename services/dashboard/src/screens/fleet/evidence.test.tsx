// @vitest-environment happy-dom
/** DF-30: what a stalled phone sent along is on its screen. */
import { act } from "react";
import { afterEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { Evidence } from "./evidence";
import { activitiesOf, screenshotOf } from "./reference";

const DEVICE = { id: "00000000-0000-7000-9000-000000000001", serial: "SERIAL01" };
const ASSIGNMENT = "00000000-0000-7000-8000-000000000002";
const PATH = `/api/evidence/2026-11-18/${DEVICE.id}/${ASSIGNMENT}.1.0123456789abcdef.png`;

afterEach(() => {
  document.body.replaceChildren();
});

async function shown(role: "viewer" | "admin", screenshot: string | null, stack: string | null = null) {
  const page = new TestPage();
  await page.show(role, <Evidence device={DEVICE} run={{ assignment: ASSIGNMENT, screenshot, stack }} />);
  return page;
}

test("DF-30: the activity stack and the screenshot of a failed run are shown", async () => {
  const stack = "com.google.android.youtube/.WatchActivity\ncom.android.systemui/.Dialog";
  await shown("viewer", "shots/1.png", stack);
  const details = document.querySelector("details");
  expect(details?.querySelector("summary")?.textContent).toBe("Activity stack");
  expect([...(details?.querySelectorAll("li") ?? [])].map((one) => one.textContent)).toEqual(stack.split("\n"));
  expect(document.body.textContent).toContain("shots/1.png");
});

test("DF-30: a run without them shows neither", async () => {
  await shown("viewer", null);
  expect(document.querySelector("details")).toBeNull();
  expect(document.querySelector("button")).toBeNull();
});

test("a picture of this server is loaded with the person's token, and only when somebody asks for it", async () => {
  const page = await shown("viewer", PATH);
  page.given.server.answers.set(PATH, () => new Response("pixels", { headers: { "Content-Type": "image/png" } }));
  expect(page.given.server.to(PATH)).toEqual([]);
  await page.press("Show screenshot");
  await page.until(() => expect(document.querySelector("img")).not.toBeNull());
  const picture = document.querySelector("img");
  expect(picture?.src).toBe(`data:image/png;base64,${btoa("pixels")}`);
  expect(picture?.alt).toContain("SERIAL01");
  expect(page.given.server.to(PATH)[0]?.token).not.toBeNull();
  expect(page.buttons()).not.toContain("Erase screenshots");
});

test("a deleted picture and one that cannot be reached say so", async () => {
  const page = await shown("viewer", PATH);
  page.given.server.fail(PATH, [404, "PICTURE_GONE"]);
  await page.press("Show screenshot");
  await page.says("The screenshot was deleted");
  expect(page.buttons()).toEqual([]);
  document.body.replaceChildren();
  const again = await shown("viewer", PATH);
  again.given.server.fail(PATH, [503, "EVIDENCE_UNREACHABLE"]);
  await again.press("Show screenshot");
  await again.until(() => expect(again.buttons()).toContain("Try again"));
});

test("an administrator erases the screenshots of a run after a question", async () => {
  const page = await shown("admin", PATH);
  const erasure = `/api/erasures/evidence/${DEVICE.id}?assignment_id=${ASSIGNMENT}`;
  page.given.server.answers.set(PATH, () => new Response("pixels", { headers: { "Content-Type": "image/png" } }));
  page.given.server.answers.set(erasure, () => Response.json({ device_id: DEVICE.id, pictures: 2 }));
  await page.press("Show screenshot");
  await page.until(() => expect(page.buttons()).toContain("Erase screenshots"));
  await page.press("Erase screenshots");
  await page.says("This can't be undone");
  const yes = [...document.querySelectorAll("button")].filter((one) => one.textContent === "Erase screenshots").at(-1);
  await act(async () => yes?.click());
  await page.until(() => expect(page.given.server.to(erasure)).toHaveLength(1));
});

test("addresses elsewhere are links that this page never loads, and anything else is a text", () => {
  expect(screenshotOf("https://shots.example.com/1.png")).toEqual({
    kind: "link",
    href: "https://shots.example.com/1.png",
  });
  const texts = ["javascript:alert(1)", "data:text/html,x", "/api/accounts", `${PATH}?x=1`, "//evil.example/x.png"];
  for (const text of texts) {
    expect(screenshotOf(text)).toEqual({ kind: "text", text });
  }
  expect(screenshotOf(PATH)).toEqual({ kind: "own", path: PATH });
});

test("a stack is one activity a line, or between signs", () => {
  expect(activitiesOf("YouTube > Popup")).toEqual(["YouTube", "Popup"]);
  expect(activitiesOf(" a/.A \r\n\n b/.B")).toEqual(["a/.A", "b/.B"]);
});
