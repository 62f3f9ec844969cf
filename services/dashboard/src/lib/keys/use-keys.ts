/** Shortcuts of a component, for as long as it is there. */
import { useEffect, useRef } from "react";
import { type Bindings, Keyboard } from "./keys";

const keyboard = new Keyboard();

export function useKeys(bindings: Bindings): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = Object.keys(bindings).join("\n");
  useEffect(() => {
    const stable = names.split("\n").map((name) => [name, () => latest.current[name]?.()] as const);
    return names === "" ? undefined : keyboard.bind(Object.fromEntries(stable));
  }, [names]);
}

/** Closes what is open. */
export function useEscape(close: () => void): void {
  useKeys({ ["Escape"]: close });
}

export function listenToKeyboard(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const { key, ctrlKey, metaKey, altKey } = event;
    const isTyping = isWriting(event.target);
    // By when it was pressed: a page that is busy hears of it later.
    if (keyboard.press({ key, ctrlKey, metaKey, altKey, isTyping }, event.timeStamp)) event.preventDefault();
  });
}

/** In a field, or while a question is open. */
function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isField = target.matches(
    "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable=true]",
  );
  return isField || target.closest("[role=dialog], [role=menu]") !== null;
}
