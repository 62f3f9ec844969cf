/** What is left of a key or a code. */
import type { EnrolmentRecord, KeyRecord } from "@/lib/api/schema";
import type { Tone } from "@/ui/status";

export type KeyState = "active" | "ending" | "revoked" | "expired";
export type CodeState = "open" | "used" | "ended";

export const KEY_TONES: Record<KeyState, Tone> = {
  active: "online",
  ending: "held",
  revoked: "error",
  expired: "offline",
};
export const CODE_TONES: Record<CodeState, Tone> = { open: "online", used: "busy", ended: "offline" };

export function stateOf(key: Pick<KeyRecord, "revoked_at" | "expires_at" | "ends_at">, now: number): KeyState {
  if (key.revoked_at !== null) return "revoked";
  if (Date.parse(key.expires_at) <= now) return "expired";
  return key.ends_at === null ? "active" : "ending";
}

export function codeStateOf(
  code: Pick<EnrolmentRecord, "ended_at" | "expires_at" | "used_at">,
  now: number,
): CodeState {
  if (code.ended_at !== null || Date.parse(code.expires_at) <= now) return "ended";
  return code.used_at === null ? "open" : "used";
}
