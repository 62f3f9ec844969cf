/** The words of this screen. */
import type { Dictionary } from "@/lib/i18n/en";
import { audit as en } from "@/lib/i18n/en-audit";
import { audit as ko } from "@/lib/i18n/ko-audit";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { audit: en }, ko: { audit: ko } };
export type AuditText = Dictionary & (typeof WORDS)["en"];

export function useAuditText(): AuditText {
  return useScreenText(WORDS);
}
