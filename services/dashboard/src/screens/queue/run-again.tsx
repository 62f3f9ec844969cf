/** A job that has ended, once more; and a phone that failed, once more while its job is open. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useRef } from "react";
import { useApp, useMay } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { useText } from "@/lib/i18n/i18n";
import { createJob, retryAssignment } from "@/lib/rest/commands";
import { randomKey } from "@/lib/rest/key";
import type { AssignmentRow, JobRow } from "@/lib/rest/rows";
import { Button, IconButton } from "@/ui/button";
import { again, failedDevices, type Where } from "./again";

export function RunAgain({ job, created }: { job: JobRow; created: (id: string) => void }): ReactNode {
  const t = useOperateText();
  const { client, toasts } = useApp();
  const mayCreate = useMay("create-job");
  // One for each way: what was made and not answered is not made twice.
  const keys = useRef<Record<Where, string>>({ everywhere: randomKey(), failed: randomKey() });
  const run = useMutation({
    mutationFn: async (where: Where) => {
      const devices = where === "failed" ? await failedDevices(client, job.id) : null;
      return createJob(client, again(job, devices), keys.current[where]);
    },
    onSuccess: (made) => {
      keys.current = { everywhere: randomKey(), failed: randomKey() };
      toasts.show({ kind: "done", title: t.newJob.created(made.title ?? t.queue.untitled) });
      created(made.id);
    },
  });
  if (!mayCreate) return null;
  return (
    <span className="flex flex-wrap justify-end gap-1">
      {job.failed > 0 && (
        <Button icon="reset" disabled={run.isPending} onClick={() => run.mutate("failed")}>
          {t.queue.againFailed(job.failed)}
        </Button>
      )}
      <Button icon="reset" disabled={run.isPending} onClick={() => run.mutate("everywhere")}>
        {t.queue.again}
      </Button>
    </span>
  );
}

/** The writer refuses where no attempt is left. */
export function RetryAssignment({ assignment }: { assignment: AssignmentRow }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const mayRetry = useMay("create-job");
  const retry = useMutation({
    mutationFn: () => retryAssignment(client, assignment.job_id, assignment.device_id),
    onSuccess: () => toasts.show({ kind: "done", title: t.queue.retried }),
  });
  if (!mayRetry) return null;
  return <IconButton icon="reset" label={t.queue.retry} disabled={retry.isPending} onClick={() => retry.mutate()} />;
}
