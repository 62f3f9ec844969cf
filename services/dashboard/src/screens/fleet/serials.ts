/** Serial numbers as the server takes them. */
import { BULK_MAX } from "@/lib/rest/bulk";

const SERIAL = /^[A-Z0-9]{8,32}$/;
const NAMED_MAX = 5;

export interface SerialsFault {
  readonly kind: "none" | "many" | "bad";
  /** The bad ones, or some of them. */
  readonly names: string;
}

export function serialsFault(serials: readonly string[]): SerialsFault | null {
  if (serials.length === 0) return { kind: "none", names: "" };
  if (serials.length > BULK_MAX) return { kind: "many", names: "" };
  const bad = serials.filter((serial) => !SERIAL.test(serial));
  if (bad.length === 0) return null;
  return { kind: "bad", names: bad.slice(0, NAMED_MAX).join(", ") + (bad.length > NAMED_MAX ? " …" : "") };
}
