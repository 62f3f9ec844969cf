import { expect, test } from "vitest";
import { inSlices, SLICE_MS } from "./slices";

/** Each piece of work takes this long. */
const WORK_MS = 4;

async function slicesOf(count: number): Promise<number[][]> {
  let now = 0;
  const slices: number[][] = [[]];
  const work = (item: number) => {
    now += WORK_MS;
    slices.at(-1)?.push(item);
  };
  const turn = async () => void slices.push([]);
  await inSlices(Array.from({ length: count }, (_, item) => item).values(), work, () => now, turn);
  return slices;
}

test("DF-23: what takes long is done in order, and in slices between which the page can draw", async () => {
  const slices = await slicesOf(20);
  expect(slices.flat()).toEqual(Array.from({ length: 20 }, (_, item) => item));
  for (const slice of slices) expect(slice.length * WORK_MS).toBeLessThan(SLICE_MS + WORK_MS);
});

test("what is quickly done is done at once", async () => {
  expect(await slicesOf(2)).toEqual([[0, 1]]);
});

test("a browser without a scheduler waits by a timer", async () => {
  let now = 0;
  const seen: number[] = [];
  await inSlices(
    [1, 2, 3],
    (item) => {
      now += SLICE_MS;
      seen.push(item);
    },
    () => now,
  );
  expect(seen).toEqual([1, 2, 3]);
});
