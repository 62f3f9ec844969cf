// @vitest-environment happy-dom
/** Keys count from when they were pressed, not from when a busy page hears of them. */
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { PAIR_WITHIN_MS } from "./keys";
import { listenToKeyboard, useKeys } from "./use-keys";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

function pressed(key: string, at: number): void {
  const event = new KeyboardEvent("keydown", { key, bubbles: true });
  Object.defineProperty(event, "timeStamp", { value: at });
  document.body.dispatchEvent(event);
}

test("a pair that was pressed in time is one, however late the page hears of the second key", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const fleet = vi.fn();
  function Screen() {
    useKeys({ "g f": fleet });
    return null;
  }
  listenToKeyboard();
  const place = document.body.appendChild(document.createElement("div"));
  await act(async () => createRoot(place).render(<Screen />));
  pressed("g", 1_000);
  vi.setSystemTime(Date.now() + 2 * PAIR_WITHIN_MS);
  pressed("f", 1_200);
  expect(fleet).toHaveBeenCalledOnce();
  pressed("g", 5_000);
  pressed("f", 5_001 + PAIR_WITHIN_MS);
  expect(fleet).toHaveBeenCalledOnce();
});
