/** The words of charts. */
import type { Dictionary } from "@/lib/i18n/en";
import { charts as en } from "@/lib/i18n/en-charts";
import { charts as ko } from "@/lib/i18n/ko-charts";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { charts: en }, ko: { charts: ko } };
export type ChartText = Dictionary & (typeof WORDS)["en"];

export function useChartText(): ChartText {
  return useScreenText(WORDS);
}
