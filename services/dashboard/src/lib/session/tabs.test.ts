/** Several tabs of one browser: they share what one of them got, and leave together. SY-10. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, NetworkError } from "./errors";
import { Given, outcome } from "./testing/given";
import { MINUTE_MS } from "./testing/server";

let given: Given;

beforeEach(() => {
  vi.useFakeTimers();
  given = new Given();
});

afterEach(() => {
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(5_000);

test("SY-10: two tabs whose token expired refresh once between them", async () => {
  const one = await given.signedInTab();
  const two = given.tab();
  await two.client.signIn("anna@example.com", "right");
  given.server.expireTokens();
  const answers = Promise.all([one.client.json("/api/1"), two.client.json("/api/2")]);
  await settle();
  expect(await answers).toEqual([
    { path: "/api/1", token: "token-3" },
    { path: "/api/2", token: "token-3" },
  ]);
  expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
});

test.each([0, 979, 990, 999])("tabs agree on the newer session %i ms into a second of the server", async (ms) => {
  vi.setSystemTime(1_800_000_000_000 + ms);
  const one = await given.signedInTab();
  const two = given.tab();
  await two.client.signIn("anna@example.com", "right");
  given.server.expireTokens();
  const answers = Promise.all([one.client.json("/api/1"), two.client.json("/api/2")]);
  await settle();
  await answers;
  expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
});

test("all tabs together renew ahead of time once", async () => {
  const one = await given.signedInTab();
  const others = [given.tab(), given.tab()];
  await Promise.all([...others.map((tab) => tab.client.restore()), settle()]);
  const before = given.server.to("/api/auth/refresh").length;
  await vi.advanceTimersByTimeAsync(56 * MINUTE_MS);
  expect(given.server.to("/api/auth/refresh").length).toBe(before + 1);
  expect(one.client.state.get().status).toBe("signed-in");
});

test("a sign-in in one tab signs the others in", async () => {
  const other = given.tab();
  await given.signedInTab();
  expect(other.client.state.get()).toEqual({ status: "signed-in", user: given.server.user });
  expect(await other.client.json("/api/1")).toEqual({ path: "/api/1", token: "token-1" });
});

test("a sign-out in one tab is a sign-out in all, without a complaint", async () => {
  const one = await given.signedInTab();
  const other = given.tab();
  await Promise.all([other.client.restore(), settle()]);
  await one.client.signOut();
  expect(other.client.state.get()).toEqual({ status: "signed-out" });
  expect(other.pages).toEqual(["/sign-in"]);
  expect(other.notices).toEqual([]);
});

test("a session that ended is over in every tab, and each says so", async () => {
  const one = await given.signedInTab();
  const other = given.tab();
  await Promise.all([other.client.restore(), settle()]);
  given.server.endSession();
  void outcome(one.client.json("/api/1"));
  await settle();
  expect(other.client.state.get()).toEqual({ status: "signed-out" });
  expect(other.pages).toEqual(["/sign-in?error=session_expired"]);
  expect(other.notices).toEqual(["session-expired"]);
});

test("a sensitive action of another tab is kept there", async () => {
  const one = await given.signedInTab();
  const other = given.tab();
  await Promise.all([other.client.restore(), settle()]);
  given.server.endSession();
  void outcome(other.client.sensitive("Cancel", () => other.client.json("/api/2")));
  void outcome(one.client.json("/api/1"));
  await settle();
  expect(other.client.state.get().status).toBe("expired");
  expect(other.pages).toEqual([]);
});

test("an older session that arrives late is not taken for news", async () => {
  const one = await given.signedInTab();
  const tabs = given.browser.openTab();
  const user = { id: "user-1", role: "operator", email: null } as const;
  tabs.tell({
    kind: "session",
    session: { token: "old", user, serverExpiresAt: Date.now(), expiresAt: Date.now(), lifetimeMs: 0 },
  });
  expect(await one.client.json("/api/1")).toEqual({ path: "/api/1", token: "token-1" });
});

test("a new tab takes up the session of the cookie", async () => {
  const { client } = given.tab();
  await Promise.all([client.restore(), settle()]);
  expect(client.state.get()).toEqual({ status: "signed-in", user: given.server.user });
});

test("without a session a new tab is signed out, and nothing is said", async () => {
  given.server.endSession();
  const { client, notices, pages } = given.tab();
  await Promise.all([client.restore(), settle()]);
  expect(client.state.get()).toEqual({ status: "signed-out" });
  expect([notices, pages]).toEqual([[], []]);
});

test("while the server is away a new tab does not know, and says so", async () => {
  given.server.fail("/api/auth/refresh", "network", 503);
  const { client } = given.tab();
  const restored = outcome(client.restore());
  await settle();
  expect(await restored).toEqual({ error: expect.any(NetworkError) });
  expect(client.state.get()).toEqual({ status: "unknown" });
});

test("a call that is made while the session is taken up waits for it", async () => {
  const { client } = given.tab();
  const restored = client.restore();
  const answer = client.json("/api/1");
  await settle();
  await restored;
  expect(await answer).toEqual({ path: "/api/1", token: "token-1" });
});

test("a wrong password is refused with the server's word", async () => {
  const { client } = given.tab();
  const refused = await outcome(client.signIn("anna@example.com", "wrong"));
  expect(refused).toEqual({ error: expect.any(ApiError) });
  expect(refused).toMatchObject({ error: { status: 401, code: "INVALID_CREDENTIALS" } });
  expect(client.state.get()).toEqual({ status: "unknown" });
});

test("signing out tells the server, and forgets the token even where that fails", async () => {
  const { client, pages } = await given.signedInTab();
  given.server.fail("/api/auth/sign-out", "network");
  await client.signOut();
  expect(given.server.to("/api/auth/sign-out")).toHaveLength(1);
  expect(client.state.get()).toEqual({ status: "signed-out" });
  expect(pages).toEqual(["/sign-in"]);
});
