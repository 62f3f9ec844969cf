// @vitest-environment happy-dom
/** A screen that cannot be loaded: the page waits for the server instead of leaving it, and reloads once. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isNotLoaded, loaded, loadInIdleTime, reloadWhenBack } from "./loading-parts";

beforeEach(() => {
  vi.useFakeTimers();
  sessionStorage.clear();
});

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  "Failed to fetch dynamically imported module: http://farm/assets/events-1.js",
  "error loading dynamically imported module: http://farm/assets/events-1.js",
  "Importing a module script failed.",
  "Unable to preload CSS for /assets/data-table-1.css",
])("%s: it was not loaded, and the router does not take it for its own error", async (message) => {
  expect(isNotLoaded(new TypeError(message))).toBe(true);
  const error = await loaded(() => Promise.reject(new TypeError(message))).catch((one: unknown) => one);
  expect(isNotLoaded(error)).toBe(true);
  expect((error as Error).message).toMatch(/^Not loaded: /);
});

test("a fault of the page is another thing, and what was loaded is given back", async () => {
  expect(isNotLoaded(new TypeError("x is undefined"))).toBe(false);
  expect(await loaded(async () => 7)).toBe(7);
});

test("the page is reloaded when the server answers again, and not before", async () => {
  const answers = ["503", "no connection", "200"];
  const reload = vi.fn();
  const ask = async () => {
    const answer = answers.shift();
    if (answer === "no connection") throw new TypeError(answer);
    return answer === "200";
  };
  reloadWhenBack(ask, reload);
  await vi.advanceTimersByTimeAsync(4_500);
  expect(reload).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(reload).toHaveBeenCalledOnce();
});

test("a part that is still missing after that does not reload the page without end", async () => {
  const reload = vi.fn();
  for (let time = 0; time < 3; time++) {
    reloadWhenBack(async () => true, reload);
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(reload).toHaveBeenCalledOnce();
});

test("whoever goes elsewhere is not brought back", async () => {
  const reload = vi.fn();
  const stop = reloadWhenBack(async () => true, reload);
  stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reload).not.toHaveBeenCalled();
});

test("all screens are loaded in idle time, also after one that failed", async () => {
  const seen: string[] = [];
  const load =
    (name: string, isThere = true) =>
    async () => {
      seen.push(name);
      if (!isThere) throw new TypeError("no connection");
    };
  const done = loadInIdleTime([load("fleet"), load("queue", false), load("events")], async () => {});
  await vi.advanceTimersByTimeAsync(5_000);
  await done;
  expect(seen).toEqual(["fleet", "queue", "events"]);
});
