/** The words of what operators do with jobs and phones. */
import type { Dictionary } from "@/lib/i18n/en";
import { operate as en, newJob as enNewJob } from "@/lib/i18n/en-operate";
import { operate as ko, newJob as koNewJob } from "@/lib/i18n/ko-operate";
import { useScreenText } from "@/lib/i18n/screen-text";

export const WORDS = { en: { operate: en, newJob: enNewJob }, ko: { operate: ko, newJob: koNewJob } };
export type OperateText = Dictionary & (typeof WORDS)["en"];

export function useOperateText(): OperateText {
  return useScreenText(WORDS);
}
