/** The words of this screen. */
import type { Dictionary } from "@/lib/i18n/en";
import { searches as en } from "@/lib/i18n/en-events";
import { searches as ko } from "@/lib/i18n/ko-events";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { searches: en }, ko: { searches: ko } };
export type EventsText = Dictionary & (typeof WORDS)["en"];

export function useEventsText(): EventsText {
  return useScreenText(WORDS);
}
