import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FIRST_WAIT_MS, LookAgain } from "./look-again";

const COMPLETE = new Response("[]");
const BEHIND = new Response("[]", { headers: { "Drover-Behind": "identity=7" } });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("complete answers are not read again", async () => {
  const readAll = vi.fn(async () => undefined);
  new LookAgain(readAll).hear(COMPLETE);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(readAll).not.toHaveBeenCalled();
});

test("answers that may miss a change are read again once, however many there are", async () => {
  const readAll = vi.fn(async () => undefined);
  const lookAgain = new LookAgain(readAll);
  lookAgain.hear(BEHIND);
  lookAgain.hear(BEHIND);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(readAll).toHaveBeenCalledTimes(1);
});

test("waits longer while answers are still behind, and starts over once they are complete", async () => {
  let isBehind = true;
  const readAll = vi.fn(async () => lookAgain.hear(isBehind ? BEHIND : COMPLETE));
  const lookAgain = new LookAgain(readAll);
  lookAgain.hear(BEHIND);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(readAll.mock.calls.length).toBeGreaterThan(4);
  expect(readAll.mock.calls.length).toBeLessThan(9);
  isBehind = false;
  await vi.advanceTimersByTimeAsync(15_000);
  readAll.mockClear();
  lookAgain.hear(BEHIND);
  await vi.advanceTimersByTimeAsync(FIRST_WAIT_MS);
  expect(readAll).toHaveBeenCalledTimes(1);
});
