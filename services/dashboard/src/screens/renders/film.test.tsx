// @vitest-environment happy-dom
/** A finished render shows its film to those who may see it, and says why where it cannot. */
import { act } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { Film } from "./film";

let page: TestPage;
const PATH = "/api/renders/41/preview";
const PREVIEW = {
  url: "/api/renders/41/file?ticket=1.x",
  name: "Bio_41.mp4",
  content_type: "video/mp4",
  size_bytes: 5,
  expires_at: "2026-11-16T12:10:00Z",
};

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const film = () => document.querySelector("video");
const asked = () => page.given.server.calls.filter((call) => call.path === PATH).length;

test("an operator sees it, and can keep it", async () => {
  page.given.server.answers.set(PATH, () => Response.json(PREVIEW));
  await page.show("operator", <Film id="41" name="Bio" />);
  await page.settle();
  expect(film()?.getAttribute("src")).toBe(PREVIEW.url);
  expect(document.querySelector("a")?.getAttribute("href")).toBe(`${PREVIEW.url}&download=true`);
});

test("a viewer is shown nothing, and nothing is asked for", async () => {
  await page.show("viewer", <Film id="41" name="Bio" />);
  await page.settle();
  expect(film()).toBeNull();
  expect(asked()).toBe(0);
});

test.each([
  [501, "NAS_NOT_CONFIGURED", "no NAS configured"],
  [503, "NAS_UNREACHABLE", "cannot reach the NAS"],
  [404, "FILE_GONE", "no longer on the NAS"],
  [409, "FILE_CHANGED", "has been replaced"],
])("%i %s is said in words", async (status, error, words) => {
  page.given.server.answers.set(PATH, () => Response.json({ error, message: "no" }, { status }));
  await page.show("operator", <Film id="41" name="Bio" />);
  await page.settle();
  expect(film()).toBeNull();
  expect(page.text).toContain(words);
  page.given.server.answers.set(PATH, () => Response.json(PREVIEW));
  await page.press("Try again");
  await page.settle();
  expect(film()).not.toBeNull();
});

test("an address that has ended is asked for once more, and then it is said", async () => {
  let tickets = 0;
  page.given.server.answers.set(PATH, () => Response.json({ ...PREVIEW, url: `/file?ticket=${++tickets}` }));
  await page.show("operator", <Film id="41" name="Bio" />);
  await page.settle();
  await act(async () => film()?.dispatchEvent(new Event("error")));
  await page.settle();
  expect(film()?.getAttribute("src")).toBe("/file?ticket=2");
  await act(async () => film()?.dispatchEvent(new Event("error")));
  await page.settle();
  expect(film()).toBeNull();
  expect(page.text).toContain("cannot play");
});
