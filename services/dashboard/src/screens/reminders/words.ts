/** The words of this screen. */
import type { Dictionary } from "@/lib/i18n/en";
import { reminders as en } from "@/lib/i18n/en-reminders";
import { reminders as ko } from "@/lib/i18n/ko-reminders";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { reminders: en }, ko: { reminders: ko } };
export type RemindersText = Dictionary & (typeof WORDS)["en"];

export function useRemindersText(): RemindersText {
  return useScreenText(WORDS);
}
