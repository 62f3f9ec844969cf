/** Long work in slices: between two of them the page draws, and answers to whoever uses it. */

/** With what a frame costs besides, far below what people notice. */
export const SLICE_MS = 10;

/** Does it for each of them, in order. */
export async function inSlices<T>(
  items: Iterable<T>,
  work: (item: T) => void,
  clock = () => performance.now(),
  turn = nextTurn,
): Promise<void> {
  let until = clock() + SLICE_MS;
  for (const item of items) {
    work(item);
    if (clock() < until) continue;
    await turn();
    until = clock() + SLICE_MS;
  }
}

/** When others had theirs. Not every browser knows `scheduler.yield`, which is not slowed down in a hidden page. */
function nextTurn(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: { yield?: () => Promise<void> } };
  return scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
}
