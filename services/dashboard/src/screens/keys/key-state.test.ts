import { expect, test } from "vitest";
import { codeStateOf, stateOf } from "./key-state";

const NOW = Date.parse("2026-11-17T12:00:00Z");
const LATER = "2026-11-18T00:00:00Z";
const BEFORE = "2026-11-16T00:00:00Z";

test("a key is active until it is replaced, expires or is revoked", () => {
  const key = { revoked_at: null, expires_at: LATER, ends_at: null };
  expect(stateOf(key, NOW)).toBe("active");
  expect(stateOf({ ...key, ends_at: LATER }, NOW)).toBe("ending");
  expect(stateOf({ ...key, expires_at: BEFORE }, NOW)).toBe("expired");
  expect(stateOf({ ...key, expires_at: BEFORE, revoked_at: BEFORE }, NOW)).toBe("revoked");
});

test("a code is open until it is used, expires or is withdrawn", () => {
  const code = { ended_at: null, expires_at: LATER, used_at: null };
  expect(codeStateOf(code, NOW)).toBe("open");
  expect(codeStateOf({ ...code, used_at: BEFORE }, NOW)).toBe("used");
  expect(codeStateOf({ ...code, expires_at: BEFORE }, NOW)).toBe("ended");
  expect(codeStateOf({ ...code, ended_at: BEFORE }, NOW)).toBe("ended");
});
