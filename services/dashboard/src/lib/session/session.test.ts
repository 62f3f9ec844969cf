/** What the server answers to a sign-in, read with care. SY-11. */
import { expect, test } from "vitest";
import { readSession, renewAt } from "./session";

const NOW = Date.parse("2026-11-16T09:00:00Z");
const DATE = "Mon, 16 Nov 2026 09:00:00 GMT";
const BODY = {
  access_token: "t",
  token_type: "bearer",
  expires_in: 900,
  expires_at: NOW / 1000 + 900,
  user: { id: "u1", role: "viewer", email: "kim@example.com", disabled: false },
  session: { id: "s1" },
};

test("the end may be seconds since 1970 or a text", () => {
  const session = readSession(BODY, DATE, NOW);
  expect(session).toMatchObject({ token: "t", expiresAt: NOW + 900_000, lifetimeMs: 900_000 });
  expect(readSession({ ...BODY, expires_at: "2026-11-16T09:15:00Z" }, DATE, NOW)).toEqual(session);
});

test("SY-11: fifteen minutes are renewed five minutes before their end", () => {
  const session = readSession(BODY, DATE, NOW);
  expect(session === null ? null : renewAt(session)).toBe(NOW + 10 * 60_000);
});

test("without a date of the server its end is taken as it is", () => {
  expect(readSession(BODY, null, NOW)?.expiresAt).toBe(NOW + 900_000);
});

test.each([
  ["no token", { ...BODY, access_token: "" }],
  ["no end", { ...BODY, expires_at: "soon" }],
  ["a role that is not known here", { ...BODY, user: { id: "u1", role: "authenticated" } }],
  ["nobody", { ...BODY, user: null }],
  ["no object", "<html>"],
])("%s is no session", (_, body) => {
  expect(readSession(body, DATE, NOW)).toBeNull();
});
