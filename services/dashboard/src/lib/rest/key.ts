/** Keys that nobody else has. Not `randomUUID`, which browsers have on HTTPS and localhost only. */

const KEY_BYTES = 16;

export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
