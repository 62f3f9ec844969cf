/** Many things in one action: each is tried, and each refusal has its reason. */
import { expect, test } from "vitest";
import { ApiError, NetworkError } from "../session/errors";
import { acceptedIds, acceptedPlaces, EXPLAINED_MAX, inBulk, PART } from "./bulk";

const items = (count: number) => Array.from({ length: count }, (_, n) => `D${n}`);

/** A server that refuses these, as a PATCH by id is answered. */
function server(refuses: readonly string[]) {
  const sent: (readonly string[])[] = [];
  const some = async (part: readonly string[]) => {
    sent.push(part);
    const refused = part.find((item) => refuses.includes(item));
    if (refused === undefined) return;
    const accepted = part.filter((item) => !refuses.includes(item));
    throw new ApiError(409, "CONFLICT", `${refused} is working`, { id: refused, accepted });
  };
  return { sent, ways: { some, accepted: acceptedIds } };
}

test("what is accepted is sent some at a time", async () => {
  const { sent, ways } = server([]);
  expect(await inBulk(items(PART + 5), ways, "k")).toEqual({ done: PART + 5, refused: [] });
  expect(sent.map((part) => part.length)).toEqual([PART, 5]);
});

test("each refusal has its own reason, and the others are done", async () => {
  const { ways } = server(["D1", "D3"]);
  expect(await inBulk(items(5), ways, "k")).toEqual({
    done: 3,
    refused: [
      { item: "D1", why: "D1 is working" },
      { item: "D3", why: "D3 is working" },
    ],
  });
});

test("one alone is asked once", async () => {
  const { sent, ways } = server(["D0"]);
  expect(await inBulk(items(1), ways, "k")).toEqual({ done: 0, refused: [{ item: "D0", why: "D0 is working" }] });
  expect(sent).toHaveLength(1);
});

test("of many refusals some are explained and all are named", async () => {
  const all = items(50);
  const { sent, ways } = server(all);
  const report = await inBulk(all, ways, "k");
  expect(report.done).toBe(0);
  expect(report.refused).toHaveLength(50);
  expect(report.refused.filter((one) => one.why !== null)).toHaveLength(EXPLAINED_MAX);
  expect(sent).toHaveLength(1 + EXPLAINED_MAX);
});

test("what can be done by the time its reason is asked for is done", async () => {
  const { ways } = server(["D1"]);
  let asked = 0;
  const some = (part: readonly string[]) => (part.length === 1 && asked++ === 0 ? Promise.resolve() : ways.some(part));
  expect(await inBulk(items(3), { ...ways, some }, "k")).toEqual({ done: 3, refused: [] });
});

test.each([new NetworkError(), new ApiError(400, "VALIDATION_ERROR", "bad"), new ApiError(503, "UNAVAILABLE", "away")])(
  "%s is a fault of all",
  async (error) => {
    const some = () => Promise.reject(error);
    await expect(inBulk(items(3), { some, accepted: acceptedIds }, "k")).rejects.toBe(error);
  },
);

test("a POST names places", () => {
  const refusal = new ApiError(409, "CONFLICT", "full", { accepted: [0, 2] });
  expect(acceptedPlaces(refusal, ["A", "B", "C"])).toEqual(["A", "C"]);
  expect(acceptedPlaces(new ApiError(409, "CONFLICT", "full"), ["A"])).toEqual([]);
});
