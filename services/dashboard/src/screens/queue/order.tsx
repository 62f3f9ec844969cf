/** The place of a job in the queue: "Run next", and its priority. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp, useMay } from "@/app/context";
import { hasTurn } from "@/farm/open-jobs";
import { useOperateText } from "@/farm/operate-words";
import { useDraft } from "@/lib/react/use-draft";
import { prioritizeJob, runJobNext } from "@/lib/rest/commands";
import type { JobRow } from "@/lib/rest/rows";
import { ActionButton, Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { Form } from "@/ui/form";
import { isPriority, PRIORITY_MAX } from "./priority";

/** For a job that waits. The one that is active keeps its turn, so nothing of it is stopped. */
export function RunNext({ job, isSmall = false }: { job: JobRow; isSmall?: boolean }): ReactNode {
  const t = useOperateText();
  const { client, toasts } = useApp();
  const mayChange = useMay("change-job");
  const run = useMutation({
    mutationFn: () => runJobNext(client, job.id),
    onSuccess: () => toasts.show({ kind: "done", title: t.operate.runNextDone(job.title ?? t.queue.untitled) }),
  });
  if (!mayChange || !hasTurn(job)) return null;
  return (
    <ActionButton
      icon="first"
      label={t.operate.runNext}
      isSmall={isSmall}
      disabled={run.isPending}
      onClick={() => run.mutate()}
    />
  );
}

/** What a list says of it: nothing of a job in its ordinary place. */
export function PlaceMark({ job }: { job: JobRow }): ReactNode {
  const t = useOperateText();
  if (job.put_first > 0) return <span className="font-medium text-accent">{t.operate.putFirst}</span>;
  return job.priority === 0 ? null : <span>{job.priority > 0 ? `+${job.priority}` : job.priority}</span>;
}

/** Read by viewers, changed by operators. */
export function Priority({ job }: { job: JobRow }): ReactNode {
  const t = useOperateText();
  const { client, toasts } = useApp();
  const mayChange = useMay("change-job");
  const [text, setText] = useDraft(String(job.priority));
  const change = useMutation({
    mutationFn: () => prioritizeJob(client, job.id, Number(text)),
    onSuccess: () => toasts.show({ kind: "done", title: t.operate.priorityDone(Number(text)) }),
  });
  if (!mayChange) return <p>{job.priority}</p>;
  const isSame = text.trim() !== "" && Number(text) === job.priority && job.put_first === 0;
  return (
    <Form className="flex items-start gap-2" submit={() => change.mutate()}>
      <Field
        label={t.operate.priority}
        type="number"
        min={-PRIORITY_MAX}
        max={PRIORITY_MAX}
        value={text}
        hint={t.operate.priorityHint}
        wrong={isPriority(text) ? undefined : t.operate.priorityWrong}
        onChange={(event) => setText(event.target.value)}
        className="flex-1"
      />
      <Button type="submit" className="mt-6" disabled={!isPriority(text) || isSame || change.isPending}>
        {t.operate.priorityChange}
      </Button>
    </Form>
  );
}
