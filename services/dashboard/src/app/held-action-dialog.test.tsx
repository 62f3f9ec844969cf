// @vitest-environment happy-dom
/** What a person sees of a sensitive action whose session ended: the seed's sentence, sign-in, and the offer. SY-12. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HeldActionDialog } from "./held-action-dialog";
import { TestPage } from "./testing";

let page: TestPage;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  page = new TestPage();
});

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const cancel = () =>
  page.tab?.client.sensitive("Cancel 3 jobs", () => page.tab?.client.json("/api/jobs") as Promise<unknown>);

test("SY-12: sign in where you are, then the action is offered again and done", async () => {
  await page.show("operator", <HeldActionDialog />);
  expect(page.text).toBe("");
  page.given.server.endSession();
  const done = cancel();
  await page.settle();
  expect(page.text).toContain("세션이 만료되었습니다. 로그인 후 다시 시도해주세요.");
  expect(page.text).toContain("Cancel 3 jobs");

  await page.write("email", "anna@example.com");
  await page.write("password", "right");
  await page.press("Sign in");
  await page.settle();
  expect(page.text).toContain("Cancel 3 jobs");
  await page.press("Run it now");
  await page.settle();
  expect(await done).toMatchObject({ path: "/api/jobs" });
  expect(page.text).toBe("");
});

test("SY-12: a wrong password is told, and the action is still there", async () => {
  await page.show("operator", <HeldActionDialog />);
  page.given.server.endSession();
  void cancel()?.catch(() => {});
  await page.settle();
  await page.write("email", "anna@example.com");
  await page.write("password", "wrong");
  await page.press("Sign in");
  await page.settle();
  expect(page.text).toContain("E-mail or password is wrong.");
  expect(page.text).toContain("Cancel 3 jobs");
});

test("closed without a sign-in, it leads to the sign-in page", async () => {
  await page.show("operator", <HeldActionDialog />);
  page.given.server.endSession();
  void cancel()?.catch(() => {});
  await page.settle();
  await page.press("Close");
  await page.settle();
  expect(page.tab?.pages).toEqual(["/sign-in?error=session_expired"]);
});
