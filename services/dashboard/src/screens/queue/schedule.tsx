/** Lets a job wait for a time, or start now. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp, useMay } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { useDraft } from "@/lib/react/use-draft";
import { scheduleJob } from "@/lib/rest/commands";
import type { JobRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { ActionButton, Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { Form } from "@/ui/form";
import { AHEAD_MAX_MS, startAt, startFault, startText } from "./start-time";

const LOOK_EVERY_MS = 10_000;

function useSchedule(job: JobRow) {
  const t = useOperateText();
  const format = useFormat();
  const { client, toasts } = useApp();
  return useMutation({
    mutationFn: (at: string | null) => scheduleJob(client, job.id, at),
    onSuccess: (_, at) => {
      const title = job.title ?? t.queue.untitled;
      const said = at === null ? t.operate.startedNow(title) : t.operate.scheduledFor(title, format.moment(at));
      toasts.show({ kind: "done", title: said });
    },
  });
}

/** For a job that waits for its time. */
export function StartNow({ job, isSmall = false }: { job: JobRow; isSmall?: boolean }): ReactNode {
  const t = useOperateText();
  const mayChange = useMay("change-job");
  const schedule = useSchedule(job);
  if (!mayChange || !job.is_scheduled) return null;
  return (
    <ActionButton
      icon="play"
      label={t.operate.startNow}
      isSmall={isSmall}
      disabled={schedule.isPending}
      onClick={() => schedule.mutate(null)}
    />
  );
}

/** For a job that waits or is paused. The one that is active has its turn. */
export function Schedule({ job }: { job: JobRow }): ReactNode {
  const t = useOperateText();
  const format = useFormat();
  const now = useNow(LOOK_EVERY_MS);
  const mayChange = useMay("change-job");
  const schedule = useSchedule(job);
  const at = job.is_scheduled && job.not_before !== null ? job.not_before : null;
  const [text, setText] = useDraft(at === null ? "" : startText(at));
  if (!mayChange) return at === null ? null : <p>{format.full(at)}</p>;
  const fault = text === "" ? null : startFault(text, now);
  const isSame = text === "" || (at !== null && text === startText(at));
  return (
    <Form className="flex items-start gap-2" submit={() => schedule.mutate(startAt(text))}>
      <StartField
        value={text}
        onChange={setText}
        wrong={fault === null || isSame ? undefined : t.operate.startWrong[fault]}
      />
      <Button type="submit" className="mt-6" disabled={isSame || fault !== null || schedule.isPending}>
        {t.operate.schedule}
      </Button>
    </Form>
  );
}

export function StartField({
  value,
  onChange,
  wrong,
}: {
  value: string;
  onChange: (text: string) => void;
  wrong?: string | undefined;
}): ReactNode {
  const t = useOperateText();
  const now = useNow(LOOK_EVERY_MS);
  return (
    <Field
      label={t.operate.start}
      type="datetime-local"
      min={startText(now)}
      max={startText(now + AHEAD_MAX_MS)}
      value={value}
      hint={t.operate.startHint(Intl.DateTimeFormat().resolvedOptions().timeZone)}
      wrong={wrong}
      onChange={(event) => onChange(event.target.value)}
      className="flex-1"
    />
  );
}
