// @vitest-environment happy-dom
/** What the forms for keys and codes say when the server refuses them. */
import { act } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { Device } from "@/lib/live/fleet";
import { NewCode } from "./codes";
import { CreateKey } from "./issue";

const PHONE = "018f2b5e-0000-7000-8000-00000000000a";
let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => document.body.replaceChildren());

const refuse = (path: string, status: number, error: string, message: string) =>
  page.given.server.answers.set(path, () => Response.json({ error, message }, { status }));

async function fill(at: number, text: string): Promise<void> {
  const input = document.querySelectorAll<HTMLInputElement>("[role=dialog] input")[at];
  await act(async () => {
    // React ignores a value that was set by its own property.
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, text);
    input?.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

test("a refusal is said once, in the form", async () => {
  await page.show("admin", <CreateKey close={() => {}} />);
  refuse("/api/keys", 409, "CONFLICT", "There are 100,000 keys");
  await fill(0, "office");
  await page.press("Create key");
  await page.says("There are 100,000 keys");
  expect(page.toasts.get()).toEqual([]);
});

test("a PC that does not exist is explained by what is on the screen", async () => {
  await page.show("admin", <NewCode close={() => {}} />);
  refuse("/api/enrolments", 404, "NOT_FOUND", "There is no PC PC-77. If it is a new one, say so (new_pc: true)");
  await fill(0, "PC-77");
  await page.press("Create code");
  await page.says("There is no PC PC-77. If it is new, tick the box below.");
  expect(page.text).not.toContain("new_pc");
});

test("a phone is named by its serial number, and one that does not exist is not sent", async () => {
  await page.show("admin", <CreateKey close={() => {}} />);
  page.live.fleet.devices.set(PHONE, { id: PHONE, serial: "SERIAL0001" } as Device);
  await act(async () => {
    const role = document.querySelector("select");
    Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value")?.set?.call(role, "device");
    role?.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await fill(0, "phone");
  await fill(1, "SERIAL0002");
  await page.press("Create key");
  await page.says("There is no phone with this serial number.");
  const sent = () => page.given.server.calls.filter((call) => call.path === "/api/keys");
  expect(sent()).toEqual([]);
  await fill(1, "serial0001");
  await page.press("Create key");
  await page.says("Copy the key now");
  expect(JSON.parse(sent()[0]?.body ?? "")).toMatchObject({ role: "device", device_id: PHONE });
});
