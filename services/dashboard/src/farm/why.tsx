/** "Why is this waiting?": the server knows, and says it in order. What must pass first is named first. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { usePast } from "@/app/past";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";
import type { Names, ReasonCode, ReasonData } from "@/lib/i18n/reasons";
import { search } from "@/lib/rest/read";
import type { Explanation, Reason } from "@/lib/rest/rows";
import { ApiError } from "@/lib/session/errors";
import { Unread } from "@/ui/states";
import { useNames } from "./names";

const LOOK_AGAIN_MS = 5_000;

export type Subject = { readonly job_id: string } | { readonly device_id: string } | { readonly assignment_id: string };

export function useWhy(subject: Subject | null) {
  const { client } = useApp();
  const past = usePast();
  return useQuery({
    queryKey: ["why", subject],
    queryFn: () => client.json<Explanation>(`/rest/v1/rpc/why?${search(subject ?? {})}`),
    enabled: subject !== null && past === null,
    refetchInterval: LOOK_AGAIN_MS,
    // What ended long ago is forgotten by the scheduler.
    retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status === 404),
  });
}

export function Why({ subject }: { subject: Subject }): ReactNode {
  const t = useText();
  const names = useNames();
  const isPast = usePast() !== null;
  const answer = useWhy(subject);
  const { data, error } = answer;
  if (isPast) return <p className="text-sm text-ink-3">{t.past.noWhy}</p>;
  if (error instanceof ApiError && error.status === 404)
    return <p className="text-sm text-ink-3">{t.errors.notFound}</p>;
  if (data === undefined) return <Unread of={answer} />;
  return <ReasonList sentences={data.reasons.map((reason) => sentence(t, reason, names))} />;
}

export function ReasonList({ sentences }: { sentences: readonly string[] }): ReactNode {
  return (
    <ol className="flex flex-col gap-1.5">
      {sentences.map((said, index) => (
        <li key={said} className="flex gap-2 text-sm">
          {sentences.length > 1 && <span className="w-3 shrink-0 text-right text-ink-3">{index + 1}</span>}
          <span className="min-w-0 break-words">{said}</span>
        </li>
      ))}
    </ol>
  );
}

/** In the person's words; a reason that this page does not know yet, in the server's. */
export function sentence(t: Dictionary, reason: Reason, names: Names): string {
  const say = Object.hasOwn(t.reasons, reason.data.code) ? t.reasons[reason.data.code as ReasonCode] : undefined;
  return say?.(reason.data as ReasonData, names) ?? reason.sentence;
}
