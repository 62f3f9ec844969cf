/** The words of tables. */
import type { Dictionary } from "@/lib/i18n/en";
import { tables as en } from "@/lib/i18n/en-tables";
import { tables as ko } from "@/lib/i18n/ko-tables";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { tables: en }, ko: { tables: ko } };
export type TableText = Dictionary & (typeof WORDS)["en"];

export function useTableText(): TableText {
  return useScreenText(WORDS);
}
