/**
 * Log lines for whoever looks for a fault, off by default. `localStorage.debug = "alarm"` turns a namespace on;
 * several with commas, `*` stands for any letters, `-name` leaves one out. The same words as `DEBUG` on the server.
 */

export type Log = (...what: unknown[]) => void;

export function debug(namespace: string): Log {
  return (...what) => {
    if (isOn(namespace, wanted())) console.debug(`${namespace}:`, ...what);
  };
}

export function isOn(namespace: string, wish: string): boolean {
  const words = wish.split(/[\s,]+/).filter(Boolean);
  const matches = (word: string) => pattern(word).test(namespace);
  const without = words.filter((word) => word.startsWith("-")).map((word) => word.slice(1));
  return words.some((word) => !word.startsWith("-") && matches(word)) && !without.some(matches);
}

function pattern(word: string): RegExp {
  const literal = word.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${literal}$`);
}

/** Asked each time: it can be turned on while the page runs. */
function wanted(): string {
  try {
    return globalThis.localStorage?.getItem("debug") ?? "";
  } catch {
    return ""; // a browser that keeps nothing for this page
  }
}
