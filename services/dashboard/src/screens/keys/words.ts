/** The words of this screen. */
import type { Dictionary } from "@/lib/i18n/en";
import { keys as en } from "@/lib/i18n/en-keys";
import { keys as ko } from "@/lib/i18n/ko-keys";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { keys: en }, ko: { keys: ko } };
export type KeysText = Dictionary & (typeof WORDS)["en"];

export function useKeysText(): KeysText {
  return useScreenText(WORDS);
}
