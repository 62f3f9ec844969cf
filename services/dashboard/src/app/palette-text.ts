/** The words of what the palette finds on the server. */
import type { Dictionary } from "@/lib/i18n/en";
import { find as en } from "@/lib/i18n/en-palette";
import { find as ko } from "@/lib/i18n/ko-palette";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { find: en }, ko: { find: ko } };
export type PaletteText = Dictionary & (typeof WORDS)["en"];

export function usePaletteText(): PaletteText {
  return useScreenText(WORDS);
}
