/** What can be done with jobs: pause, resume, cancel, one or many. Cancelling is asked about first. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useLive, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { useText } from "@/lib/i18n/i18n";
import { useTable } from "@/lib/live/hooks";
import { changeJobs, type JobChange } from "@/lib/rest/commands";
import { randomKey } from "@/lib/rest/key";
import type { JobRow } from "@/lib/rest/rows";
import { ActionButton, Button } from "@/ui/button";

/** How soon a question says that its job has ended. */
const LOOK_EVERY_MS = 200;

interface Change {
  readonly ids: readonly string[];
  readonly status: JobChange;
}

export function useJobChange(done?: () => void) {
  const t = useText();
  const { client, toasts } = useApp();
  return useMutation({
    mutationFn: ({ ids, status }: Change) => {
      const key = randomKey();
      const run = () => changeJobs(client, ids, status, key);
      // Many at once, and whatever cannot be undone, must not be lost with a session.
      return status === "cancelled" ? client.sensitive(t.queue.cancelLabel(ids.length), run) : run();
    },
    onSuccess: (_, { ids, status }) => {
      toasts.show({ kind: "done", title: t.queue.done[status](ids.length) });
      done?.();
    },
  });
}

/** What can be done without a question, and with which jobs. */
const CHANGES = [
  {
    icon: "pause",
    status: "paused",
    words: "pause",
    bulkWords: "bulkPause",
    isFor: (job: JobRow) => job.status === "active" || (job.status === "created" && job.is_active),
  },
  {
    icon: "play",
    status: "active",
    words: "resume",
    bulkWords: "bulkResume",
    isFor: (job: JobRow) => job.status === "paused" || (job.status === "created" && !job.is_active),
  },
] as const;

export function isOpen(job: JobRow): boolean {
  return job.status === "created" || job.status === "active" || job.status === "paused";
}

/** Of one job. With words, or as pictures in a row of a table. */
export function JobActions({ job, isSmall = false }: { job: JobRow; isSmall?: boolean }): ReactNode {
  const t = useText();
  const mayChange = useMay("change-job");
  const change = useJobChange();
  const ask = useConfirmCancel((cancelled) => change.mutate({ ids: cancelled, status: "cancelled" }));
  if (!mayChange || !isOpen(job)) return null;
  const ids = [job.id];
  const shared = { isSmall, disabled: change.isPending };
  return (
    <span className="flex shrink-0 justify-end gap-1">
      {CHANGES.map(
        ({ icon, status, words, isFor }) =>
          isFor(job) && (
            <ActionButton
              key={status}
              {...shared}
              icon={icon}
              label={t.queue[words]}
              onClick={() => change.mutate({ ids, status })}
            />
          ),
      )}
      <ActionButton {...shared} icon="stop" label={t.queue.cancel} isDanger onClick={() => ask([job])} />
    </span>
  );
}

/** `confirm` gets those that are still open when the answer is given. */
function useConfirmCancel(confirm: (ids: readonly string[]) => void): (jobs: readonly JobRow[]) => void {
  const show = useDialog();
  return (jobs) => show((close) => <ConfirmCancel asked={jobs} close={close} confirm={confirm} />);
}

interface ConfirmCancelProps {
  /** As they were when somebody asked. */
  readonly asked: readonly JobRow[];
  readonly close: () => void;
  readonly confirm: (ids: readonly string[]) => void;
}

function ConfirmCancel({ asked, close, confirm }: ConfirmCancelProps): ReactNode {
  const t = useText();
  const { fleet } = useLive();
  useTable(fleet.jobs, LOOK_EVERY_MS);
  const jobs = asked.map((job) => fleet.jobs.get(job.id) ?? job);
  const open = jobs.filter(isOpen);
  const [only] = jobs.length === 1 ? jobs : [];
  const count = open.length || jobs.length;
  const lead = open.length === jobs.length ? "" : `${t.queue.someEnded(jobs.length - open.length)} `;
  return (
    <Confirm
      title={t.queue.confirmCancelTitle(count)}
      subject={only && (only.title ?? t.queue.untitled)}
      lead={lead + t.queue.confirmCancel}
      over={open.length > 0 ? null : only ? t.queue.hasEnded(t.jobStatus[only.status]) : t.queue.allEnded}
      keep={t.queue.keep}
      yes={t.queue.confirmCancelYes(count)}
      close={close}
      confirm={() => confirm(open.map((job) => job.id))}
    />
  );
}

/** Of all that are selected: each button for those that it can be done with. */
export function BulkActions({ jobs, done }: { jobs: readonly JobRow[]; done: () => void }): ReactNode {
  const t = useText();
  const change = useJobChange(done);
  const ask = useConfirmCancel((ids) => change.mutate({ ids, status: "cancelled" }));
  return (
    <div className="flex items-center gap-2">
      <span className="text-sm text-ink-2">{t.common.selected(jobs.length)}</span>
      {CHANGES.map(({ icon, status, bulkWords, isFor }) => {
        const ids = jobs.filter(isFor).map((job) => job.id);
        return (
          ids.length > 0 && (
            <Button key={status} icon={icon} disabled={change.isPending} onClick={() => change.mutate({ ids, status })}>
              {t.queue[bulkWords](ids.length)}
            </Button>
          )
        );
      })}
      <Button icon="stop" kind="danger" disabled={change.isPending} onClick={() => ask(jobs)}>
        {t.queue.bulkCancel(jobs.length)}
      </Button>
    </div>
  );
}
