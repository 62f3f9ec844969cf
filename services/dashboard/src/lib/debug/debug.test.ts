/** Log lines that a person can turn on in the browser. The dashboard's half of RM-13. */
import { expect, test, vi } from "vitest";
import { debug, isOn } from "./debug";

test.each([
  ["alarm", "alarm", true],
  ["alarm", "", false],
  ["alarm", "session", false],
  ["alarm", "session,alarm", true],
  ["alarm", "*", true],
  ["alarm", "*,-alarm", false],
  ["live:stream", "live:*", true],
  ["alarms", "alarm", false],
])("RM-13: %s with localStorage.debug = '%s': %s", (namespace, wish, expected) => {
  expect(isOn(namespace, wish)).toBe(expected);
});

test("RM-13: the namespace alarm speaks when localStorage.debug says so, and is silent otherwise", () => {
  const said = vi.spyOn(console, "debug").mockImplementation(() => {});
  let wish: string | null = null;
  vi.stubGlobal("localStorage", { getItem: () => wish });
  const log = debug("alarm");
  log("quiet");
  expect(said).not.toHaveBeenCalled();
  wish = "alarm";
  log("sent", 3);
  expect(said).toHaveBeenCalledWith("alarm:", "sent", 3);
});

test("a browser that keeps nothing is no reason to fail", () => {
  vi.stubGlobal("localStorage", {
    getItem: () => {
      throw new Error("denied");
    },
  });
  expect(() => debug("alarm")("quiet")).not.toThrow();
});
