/** Renewing ahead of time: less than five minutes left, and nobody is refused. SY-11. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RENEW_AGAIN_MS } from "./client";
import { Given } from "./testing/given";
import { MINUTE_MS } from "./testing/server";

let given: Given;

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime("2026-11-16T09:00:00Z");
  given = new Given();
});

afterEach(() => {
  vi.useRealTimers();
});

const refreshes = () => given.server.to("/api/auth/refresh").length;

test("SY-11: a token is renewed when less than five minutes remain, and not before", async () => {
  await given.signedInTab();
  await vi.advanceTimersByTimeAsync(55 * MINUTE_MS - 1_000);
  expect(refreshes()).toBe(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(refreshes()).toBe(1);
});

test("SY-11: the new token is used, and renewed in its turn", async () => {
  const { client } = await given.signedInTab();
  await vi.advanceTimersByTimeAsync(56 * MINUTE_MS);
  expect(await client.json("/api/1")).toEqual({ path: "/api/1", token: "token-2" });
  await vi.advanceTimersByTimeAsync(55 * MINUTE_MS);
  expect(refreshes()).toBe(2);
});

test("a token of five minutes is renewed at half its life, not all the time", async () => {
  given.server.lifetimeMs = 5 * MINUTE_MS;
  await given.signedInTab();
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect(refreshes()).toBeLessThanOrEqual(4);
  expect(refreshes()).toBeGreaterThanOrEqual(3);
});

test("a clock that is off by hours changes nothing", async () => {
  given.server.clockAheadMs = -3 * 60 * MINUTE_MS;
  await given.signedInTab();
  await vi.advanceTimersByTimeAsync(54 * MINUTE_MS);
  expect(refreshes()).toBe(0);
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(refreshes()).toBe(1);
});

test("while the server is away it tries again, and nobody is sent away: the token is still good", async () => {
  const { client, notices, pages } = await given.signedInTab();
  given.server.fail("/api/auth/refresh", "network", "network");
  await vi.advanceTimersByTimeAsync(55 * MINUTE_MS + 5_000);
  expect(refreshes()).toBe(2); // one, and its retry
  expect(client.state.get().status).toBe("signed-in");
  await vi.advanceTimersByTimeAsync(RENEW_AGAIN_MS);
  expect(refreshes()).toBe(3);
  expect(await client.json("/api/1")).toEqual({ path: "/api/1", token: "token-2" });
  expect([notices, pages]).toEqual([[], []]);
});

test("a refusal ahead of time is the end of the session", async () => {
  const { client, notices, pages } = await given.signedInTab();
  given.server.isSessionAlive = false;
  await vi.advanceTimersByTimeAsync(56 * MINUTE_MS);
  expect(client.state.get()).toEqual({ status: "signed-out" });
  expect(notices).toEqual(["session-expired"]);
  expect(pages).toEqual(["/sign-in?error=session_expired"]);
});

test("a tab that slept renews when it wakes, whatever its timers did", async () => {
  const { client } = await given.signedInTab();
  vi.setSystemTime(Date.now() + 58 * MINUTE_MS); // the clock went on, the timers did not
  client.renewIfDue();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(refreshes()).toBe(1);
});

test("a tab that wakes early renews nothing", async () => {
  const { client } = await given.signedInTab();
  vi.setSystemTime(Date.now() + 10 * MINUTE_MS);
  client.renewIfDue();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(refreshes()).toBe(0);
});

test("who has signed out renews nothing", async () => {
  const { client } = await given.signedInTab();
  await client.signOut();
  await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
  expect(refreshes()).toBe(0);
});
