/** The words of this screen. */
import type { Dictionary } from "@/lib/i18n/en";
import { analyses as en } from "@/lib/i18n/en-analyses";
import { analyses as ko } from "@/lib/i18n/ko-analyses";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { analyses: en }, ko: { analyses: ko } };
export type AnalysesText = Dictionary & (typeof WORDS)["en"];

export function useAnalysesText(): AnalysesText {
  return useScreenText(WORDS);
}
