// @vitest-environment happy-dom
/** The past: its clock stands still, nothing can be done to it, and the address keeps it from screen to screen. */
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SessionClient } from "@/lib/session/client";
import { ACTIONS, may } from "@/lib/session/may";
import { StoppedClock, useNow } from "@/lib/time/use-now";
import { useMay } from "./context";
import { PastContext } from "./past";
import { makeRouter } from "./router";
import { TestPage } from "./testing";

const AT = Date.parse("2026-11-16T09:00:00Z");
const PAST = { at: AT, iso: "2026-11-16T09:00:00.000Z" };
let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
  history.replaceState(null, "", "/");
});

function Allowed(): ReactNode {
  // biome-ignore lint/correctness/useHookAtTopLevel: the list never changes
  return ACTIONS.filter((action) => useMay(action)).join(",");
}

function Clock(): ReactNode {
  return useNow(60_000);
}

test("an administrator may do everything now, and nothing in the past", async () => {
  await page.show("admin", <Allowed />);
  expect(page.text).toBe(ACTIONS.join(","));
  document.body.replaceChildren();
  await page.show(
    "admin",
    <PastContext value={PAST}>
      <Allowed />
    </PastContext>,
  );
  expect(page.text).toBe("");
});

test("accounts, quotas and erasing are for administrators, and viewers may do nothing", () => {
  const not = ACTIONS.filter((action) => !may("operator", action));
  expect(not).toEqual(["manage-accounts", "change-users", "see-audit", "erase", "manage-keys"]);
  expect(ACTIONS.filter((action) => may("viewer", action))).toEqual([]);
});

test("its clock stands still", async () => {
  await page.show(
    "viewer",
    <StoppedClock value={AT}>
      <Clock />
    </StoppedClock>,
  );
  await page.settle();
  expect(page.text).toBe(String(AT));
});

test("now it goes on, also where nobody had looked for a while", async () => {
  const before = Date.now();
  await page.show("viewer", <Clock />);
  await page.settle();
  expect(Number(page.text)).toBeGreaterThanOrEqual(before);
});

async function routerAt(address: string) {
  history.replaceState(null, "", address);
  const state = { get: () => ({ status: "signed-in" }) };
  const router = makeRouter({ client: { state } as unknown as SessionClient });
  await router.load();
  return router;
}

test("whoever looks at the past goes on doing so on every screen, until they ask for the present", async () => {
  const router = await routerAt("/fleet?show=error&as_of=2026-11-16T09:00:00Z");
  const queue = router.buildLocation({ to: "/queue", search: { job: "J1" } });
  expect(queue.search).toMatchObject({ job: "J1", as_of: "2026-11-16T09:00:00Z" });
  const now = router.buildLocation({ to: ".", search: ((was: object) => ({ ...was, as_of: undefined })) as never });
  expect(now.searchStr).toBe("?show=error");
});

test("an address that names no moment is the present", async () => {
  const router = await routerAt("/queue?as_of=yesterday&job=J1");
  expect(router.buildLocation({ to: "/fleet" }).searchStr).toBe("");
});
