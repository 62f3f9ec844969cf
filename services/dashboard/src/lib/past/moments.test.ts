/** Who is told to ask later asks later. */
import { expect, test } from "vitest";
import { ApiError, NetworkError } from "../session/errors";
import { againInMs, isBusy, readMoment, StillComputing } from "./moments";

test("the server says when", () => {
  const busy = new ApiError(503, "UNAVAILABLE", "Two moments are being looked at already", null, null, 3);
  expect([isBusy(busy), againInMs(busy)]).toEqual([true, 3_000]);
});

test("a second, if it says nothing", () => {
  expect(againInMs(new ApiError(503, "UNAVAILABLE", ""))).toBe(1_000);
  expect(againInMs(new NetworkError("gone"))).toBe(1_000);
});

test("other refusals are no reason to wait", () => {
  expect(isBusy(new ApiError(400, "VALIDATION_ERROR", "as_of lies in the future"))).toBe(false);
});

const AT = "2026-11-16T09:00:00Z";

function answering(status: number, body: unknown) {
  const request = async () => new Response(JSON.stringify(body), { status });
  return { request, json: async <T>() => (await (await request()).json()) as T };
}

test("a moment that is being computed says how far it is", async () => {
  const progress = { context: "fleet", at: AT, done: 30, of: 120 };
  const reading = readMoment(answering(202, progress), "fleet", AT, new AbortController().signal);
  const error = await reading.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StillComputing);
  expect((error as StillComputing).share).toBe(0.25);
});

test("while the server does not know how much there is to do, neither does the page", () => {
  expect(new StillComputing({ context: "fleet", at: AT, done: 0, of: 0 }).share).toBeNull();
});

test("a moment that is there is the answer", async () => {
  const moment = { at: AT, pcs: [], devices: [], jobs: [], alerts: [] };
  expect(await readMoment(answering(200, moment), "fleet", AT, new AbortController().signal)).toEqual(moment);
});
