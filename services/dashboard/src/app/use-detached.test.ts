/** Whether lists of events are complete. */
import { expect, test } from "vitest";
import { detachedUntil } from "./use-detached";

const rows = (context: string, until: string | null) => ({ context, before_seq: 100, until });

test("nothing is detached", () => {
  expect(detachedUntil([])).toBeNull();
  expect(detachedUntil([rows("fleet", null)])).toBeNull();
});

test("the latest of all contexts counts", () => {
  const detached = [rows("fleet", "2026-03-01T00:00:00Z"), rows("render", "2026-05-01T00:00:00Z")];
  expect(detachedUntil(detached)).toBe(Date.parse("2026-05-01T00:00:00Z"));
});
