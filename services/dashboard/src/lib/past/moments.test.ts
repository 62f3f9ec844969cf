/** Who is told to ask later asks later. */
import { expect, test } from "vitest";
import { ApiError, NetworkError } from "../session/errors";
import { againInMs, isBusy } from "./moments";

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
