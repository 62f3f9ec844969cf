/** A sensitive action whose session ends under it is not lost: sign in, and it is offered again. SY-12. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ActionAbandoned, ApiError, SessionExpired } from "./errors";
import { SIGN_IN_AND_TRY_AGAIN } from "./messages";
import { Given, outcome, type Tab } from "./testing/given";

let given: Given;
let tab: Tab;

beforeEach(async () => {
  vi.useFakeTimers();
  given = new Given();
  tab = await given.signedInTab();
});

afterEach(() => {
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(5_000);
const PATH = "/rest/v1/jobs?id=in.(1,2,3)";
const cancelThree = () =>
  tab.client.sensitive("Cancel 3 jobs", () =>
    tab.client.json(PATH, { method: "PATCH", body: '{"status":"cancelled"}', headers: { "Idempotency-Key": "k1" } }),
  );

test("SY-12: the dialog says it in the seed's words", () => {
  expect(SIGN_IN_AND_TRY_AGAIN).toBe("세션이 만료되었습니다. 로그인 후 다시 시도해주세요.");
});

test("SY-12: with an expired session the action is held, and nobody is sent away", async () => {
  given.server.endSession();
  void cancelThree();
  await settle();
  expect(tab.client.state.get()).toMatchObject({ status: "expired" });
  expect(tab.client.held.get().map((action) => action.label)).toEqual(["Cancel 3 jobs"]);
  expect([tab.notices, tab.pages]).toEqual([[], []]);
});

test("SY-12: after the sign-in the action is offered again, not done by itself", async () => {
  given.server.endSession();
  void cancelThree();
  await settle();
  await tab.client.signIn("anna@example.com", "right");
  await settle();
  expect(tab.client.state.get().status).toBe("signed-in");
  expect(tab.client.held.get()).toHaveLength(1);
  expect(given.server.to(PATH)).toHaveLength(1);
});

test("SY-12: taken up again it is the same request, and whoever began it gets its outcome", async () => {
  given.server.endSession();
  const done = cancelThree();
  await settle();
  await tab.client.signIn("anna@example.com", "right");
  tab.client.held.get()[0]?.again();
  expect(await done).toEqual({ path: PATH, token: "token-2" });
  const [before, after] = given.server.to(PATH);
  expect(after).toMatchObject({ method: "PATCH", body: before?.body });
  expect(after?.headers.get("Idempotency-Key")).toBe("k1");
  expect(tab.client.held.get()).toEqual([]);
});

test("a wrong password leaves the action where it is", async () => {
  given.server.endSession();
  void cancelThree();
  await settle();
  expect(await outcome(tab.client.signIn("anna@example.com", "wrong"))).toEqual({ error: expect.any(ApiError) });
  expect(tab.client.held.get()).toHaveLength(1);
  expect(tab.client.state.get().status).toBe("expired");
});

test("given up before the sign-in, it ends as any other session", async () => {
  given.server.endSession();
  const done = outcome(cancelThree());
  await settle();
  tab.client.held.get()[0]?.abandon();
  expect(await done).toEqual({ error: expect.any(ActionAbandoned) });
  expect(tab.client.state.get()).toEqual({ status: "signed-out" });
  expect(tab.pages).toEqual(["/sign-in?error=session_expired"]);
});

test("given up after the sign-in, one stays signed in", async () => {
  given.server.endSession();
  const done = outcome(cancelThree());
  await settle();
  await tab.client.signIn("anna@example.com", "right");
  tab.client.held.get()[0]?.abandon();
  expect(await done).toEqual({ error: expect.any(ActionAbandoned) });
  expect(tab.client.state.get().status).toBe("signed-in");
  expect(tab.pages).toEqual([]);
});

test("reads that fail beside it do not send anybody away", async () => {
  given.server.endSession();
  const read = outcome(tab.client.json("/rest/v1/devices"));
  void cancelThree();
  await settle();
  expect(await read).toEqual({ error: expect.any(SessionExpired) });
  expect(tab.client.state.get().status).toBe("expired");
  expect(tab.pages).toEqual([]);
});

test("a second one joins the first", async () => {
  given.server.endSession();
  void cancelThree();
  await settle();
  void tab.client.sensitive("Reset a phone", () => tab.client.json("/rest/v1/devices"));
  await settle();
  expect(tab.client.held.get().map((action) => action.label)).toEqual(["Cancel 3 jobs", "Reset a phone"]);
});

test("a session that ends again under the repeat holds it again", async () => {
  given.server.endSession();
  const done = cancelThree();
  await settle();
  await tab.client.signIn("anna@example.com", "right");
  given.server.endSession();
  tab.client.held.get()[0]?.again();
  await settle();
  expect(tab.client.held.get()).toHaveLength(1);
  await tab.client.signIn("anna@example.com", "right");
  tab.client.held.get()[0]?.again();
  expect(await done).toMatchObject({ path: PATH });
});

test("where only the token has expired it is renewed, and nobody is asked", async () => {
  given.server.expireTokens();
  const done = cancelThree();
  await settle();
  expect(await done).toEqual({ path: PATH, token: "token-2" });
  expect(tab.client.held.get()).toEqual([]);
});

test("what the server refuses is told to the caller and not held", async () => {
  given.server.fail(PATH, [409, "CONFLICT"]);
  expect(await outcome(cancelThree())).toMatchObject({ error: { code: "CONFLICT" } });
  expect(tab.client.held.get()).toEqual([]);
});

test("one that fails for another reason, while the session ended beside it, does not leave an empty page", async () => {
  given.server.fail(PATH, [409, "CONFLICT"]);
  const release = given.server.keepAnswersOf(PATH);
  const done = outcome(cancelThree());
  given.server.endSession();
  void outcome(tab.client.json("/rest/v1/devices"));
  await settle();
  expect(tab.client.state.get().status).toBe("expired");
  release();
  await settle();
  expect(await done).toMatchObject({ error: { code: "CONFLICT" } });
  expect(tab.pages).toEqual(["/sign-in?error=session_expired"]);
});

test("who is being asked whether they mean it is not sent away, and may still mean it", async () => {
  const release = tab.client.prepareSensitive();
  given.server.endSession();
  void outcome(tab.client.json("/rest/v1/devices"));
  await settle();
  expect(tab.client.state.get().status).toBe("expired");
  expect(tab.pages).toEqual([]);
  void cancelThree();
  release();
  await settle();
  expect(tab.client.held.get().map((action) => action.label)).toEqual(["Cancel 3 jobs"]);
  expect(tab.pages).toEqual([]);
});

test("who was asked and does not mean it leaves then", async () => {
  const release = tab.client.prepareSensitive();
  given.server.endSession();
  void outcome(tab.client.json("/rest/v1/devices"));
  await settle();
  release();
  release(); // once is enough
  expect(tab.client.state.get()).toEqual({ status: "signed-out" });
  expect(tab.pages).toEqual(["/sign-in?error=session_expired"]);
});
