// @vitest-environment happy-dom
/** The chosen entry of the palette stays chosen when results of the server are added to the list. */
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Found } from "@/lib/api/schema";
import { Palette } from "./palette";
import { TestPage } from "./testing";

const SHORTER = "/api/find?q=syste";
const FIND = "/api/find?q=system";
const JOB = { id: "j1", title: "Look at the system", status: "completed", created_at: "2026-11-16T12:00:00Z" };
const FOUND: Found = { jobs: [JOB], renders: [], users: [], event_types: [], events: [] };

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<object>()),
  useNavigate: () => () => Promise.resolve(),
}));

let page: TestPage;

beforeEach(async () => {
  page = new TestPage();
  for (const path of [SHORTER, FIND]) page.given.server.answers.set(path, () => Response.json(FOUND));
  await page.show("admin", <Palette close={() => {}} showHelp={() => {}} showPast={() => {}} />);
});

afterEach(() => {
  document.body.replaceChildren();
});

function box(): HTMLInputElement {
  const found = document.querySelector<HTMLInputElement>("input[role=combobox]");
  if (found === null) throw new Error("The palette is not there");
  return found;
}

async function write(text: string): Promise<void> {
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(box(), text);
    box().dispatchEvent(new Event("input", { bubbles: true }));
  });
}

const press = (key: string) =>
  act(async () => box().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
const labels = () =>
  [...document.querySelectorAll("[role=option]")].map((one) => one.querySelector("span")?.textContent);
const chosen = () => document.querySelector("[role=option][aria-selected=true] span")?.textContent;

/** Waits for what comes after the pause between the last letter and the question to the server. */
async function until(isSo: () => boolean): Promise<void> {
  await vi.waitFor(
    async () => {
      await page.settle();
      expect(isSo()).toBe(true);
    },
    { timeout: 10_000 },
  );
}

test("an entry that was chosen stays chosen when the server has found more before it", async () => {
  const answer = page.given.server.keepAnswersOf(FIND);
  await write("system");
  await press("ArrowDown");
  expect(labels()).toEqual(["System", "Appearance: System"]);
  expect(chosen()).toBe("Appearance: System");
  await until(() => page.given.server.to(FIND).length === 1);
  answer();
  await until(() => page.text.includes(JOB.title));
  expect(labels()).toEqual(["System", JOB.title, "Appearance: System"]);
  expect(chosen()).toBe("Appearance: System");
  await press("ArrowUp");
  expect(chosen()).toBe(JOB.title);
});

test("the arrows go round, and other letters choose the first again", async () => {
  await write("system");
  await until(() => page.text.includes(JOB.title));
  await press("ArrowUp");
  expect(chosen()).toBe("Appearance: System");
  await press("ArrowDown");
  expect(chosen()).toBe("System");
  await press("ArrowDown");
  await write("syste");
  expect(chosen()).toBe("System");
  await until(() => page.given.server.to(SHORTER).length === 1);
  expect(chosen()).toBe("System");
});
