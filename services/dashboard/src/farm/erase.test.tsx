// @vitest-environment happy-dom
/** Erasing is for administrators, is asked about first, and says that it cannot be undone. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { PastContext } from "@/app/past";
import { TestPage } from "@/app/testing";
import { Erase } from "./erase";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

const user = <Erase what="users" id="kim/1" name="kim/1" />;
const erasures = () => page.given.server.calls.flatMap(({ path }) => (path.startsWith("/api/erasures/") ? [path] : []));

test.each(["operator", "viewer"] as const)("a %s cannot erase anybody", async (role) => {
  await page.show(role, user);
  expect(page.buttons()).toEqual([]);
});

test("nobody erases in the past", async () => {
  const past = { at: 0, iso: "1970-01-01T00:00:00.000Z" };
  await page.show("admin", <PastContext value={past}>{user}</PastContext>);
  expect(page.buttons()).toEqual([]);
});

test("an administrator is told that it cannot be undone, and may keep the user", async () => {
  await page.show("admin", user);
  await page.press("Erase…");
  await page.settle();
  expect(page.text).toContain("This cannot be undone.");
  await page.press("Keep");
  await page.settle();
  expect(erasures()).toEqual([]);
});

test.each([
  ["users", "Erase this user", "/api/erasures/users/kim%2F1"],
  ["renders", "Erase the input data", "/api/erasures/renders/kim%2F1"],
] as const)("of %s, it is done when it is meant", async (what, yes, path) => {
  await page.show("admin", <Erase what={what} id="kim/1" name="kim/1" />);
  await page.press("Erase…");
  await page.settle();
  await page.press(yes);
  await page.settle();
  expect(erasures()).toEqual([path]);
});
