/** Shortcuts act when they are meant, and never while somebody writes. */
import { beforeEach, expect, test, vi } from "vitest";
import { Keyboard, PAIR_WITHIN_MS, type Pressed } from "./keys";

let keyboard: Keyboard;
const fleet = vi.fn();
const find = vi.fn();
const search = vi.fn();

beforeEach(() => {
  keyboard = new Keyboard();
  keyboard.bind({ "g f": fleet, f: find, "mod+k": search });
  vi.clearAllMocks();
});

const key = (name: string, more: Partial<Pressed> = {}): Pressed => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isTyping: false,
  ...more,
});

test("two keys one after the other", () => {
  keyboard.press(key("g"), 0);
  expect(keyboard.press(key("f"), 100)).toBe(true);
  expect(fleet).toHaveBeenCalledOnce();
  expect(find).not.toHaveBeenCalled();
});

test("too late, the second means itself", () => {
  keyboard.press(key("g"), 0);
  keyboard.press(key("f"), PAIR_WITHIN_MS + 1);
  expect(fleet).not.toHaveBeenCalled();
  expect(find).toHaveBeenCalledOnce();
});

test.each([{ ctrlKey: true }, { metaKey: true }])("with Ctrl or with Cmd: %o", (modifier) => {
  keyboard.press(key("k", modifier), 0);
  expect(search).toHaveBeenCalledOnce();
});

test("who writes is left alone, but for the palette", () => {
  expect(keyboard.press(key("f", { isTyping: true }), 0)).toBe(false);
  keyboard.press(key("k", { ctrlKey: true, isTyping: true }), 0);
  expect(find).not.toHaveBeenCalled();
  expect(search).toHaveBeenCalledOnce();
});

test("a page's own keys come before those of all pages, and end with it", () => {
  const own = vi.fn();
  const release = keyboard.bind({ f: own });
  keyboard.press(key("f"), 0);
  expect([own.mock.calls.length, find.mock.calls.length]).toEqual([1, 0]);
  release();
  keyboard.press(key("f"), 5_000);
  expect(find).toHaveBeenCalledOnce();
});
