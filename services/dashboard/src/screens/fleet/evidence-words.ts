/** The words for what a phone sent along with a failure. */
import type { Dictionary } from "@/lib/i18n/en";
import { evidence as en } from "@/lib/i18n/en-evidence";
import { evidence as ko } from "@/lib/i18n/ko-evidence";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { evidence: en }, ko: { evidence: ko } };
export type EvidenceText = Dictionary & (typeof WORDS)["en"];

export function useEvidenceText(): EvidenceText {
  return useScreenText(WORDS);
}
