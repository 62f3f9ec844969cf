/** "Why?" for a render, a test or a reminder: the server knows (`/api/why`), and says it in order. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { useApp } from "@/app/context";
import { usePast } from "@/app/past";
import type { Dictionary } from "@/lib/i18n/en";
import { why as en } from "@/lib/i18n/en-why";
import { why as ko } from "@/lib/i18n/ko-why";
import { useScreenText } from "@/lib/i18n/screen-text";
import type { WorkNames, WorkReasonCode, WorkReasonData } from "@/lib/i18n/work-reasons";
import type { Explanation, Reason } from "@/lib/rest/rows";
import { ApiError } from "@/lib/session/errors";
import { useFormat } from "@/lib/time/format";
import { Section } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { ReasonList } from "./why";

const LOOK_AGAIN_MS = 5_000;

export const WORDS = { en: { why: en }, ko: { why: ko } };
export type WhyText = Dictionary & (typeof WORDS)["en"];

interface WorkWhyProps {
  /** The end of its address: `renders/7`. */
  readonly of: string;
  /** A fault by its code, as this screen calls it. */
  readonly fault?: (code: string) => string;
  readonly stage?: (stage: string) => string;
}

const asItIs = (text: string) => text;

export function WorkWhy({ of, fault = asItIs, stage = asItIs }: WorkWhyProps): ReactNode {
  const t = useScreenText(WORDS);
  const format = useFormat();
  const { client } = useApp();
  const isPast = usePast() !== null;
  const answer = useQuery({
    queryKey: ["why", of],
    queryFn: () => client.json<Explanation>(`/api/why/${of}`),
    enabled: !isPast,
    refetchInterval: LOOK_AGAIN_MS,
    retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status === 404),
  });
  const names: WorkNames = useMemo(
    () => ({
      time: (at) => (at === null || at === undefined ? t.common.unknown : format.moment(at)),
      stage: (name) => (name === undefined ? "" : stage(name)),
      fault: (code) => (code === null || code === undefined ? t.common.unknown : fault(code)),
    }),
    [t, format, fault, stage],
  );
  if (isPast) return null;
  const isGone = answer.error instanceof ApiError && answer.error.status === 404;
  return (
    <Section title={t.why.title}>
      {isGone ? (
        <p className="text-sm text-ink-3">{t.errors.notFound}</p>
      ) : answer.data === undefined ? (
        <Unread of={answer} />
      ) : (
        <ReasonList sentences={answer.data.reasons.map((reason) => workSentence(t, reason, names))} />
      )}
    </Section>
  );
}

/** In the person's words; a reason that this page does not know yet, in the server's. */
export function workSentence(t: Pick<WhyText, "why">, reason: Reason, names: WorkNames): string {
  const { workReasons } = t.why;
  const { code } = reason.data;
  const say = Object.hasOwn(workReasons, code) ? workReasons[code as WorkReasonCode] : undefined;
  return say?.(reason.data as WorkReasonData, names) ?? reason.sentence;
}
