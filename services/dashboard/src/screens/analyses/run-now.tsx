/** A cleanup now, instead of at the next full hour. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { usePast } from "@/app/past";
import type { CleanupDone } from "@/lib/api/schema";
import { Button } from "@/ui/button";
import { useAnalysesText } from "./words";

interface RunNowProps {
  readonly isAsking: boolean;
  readonly ask: (isAsking: boolean) => void;
  readonly openRun: (id: string) => void;
}

export function RunNow({ isAsking, ask, openRun }: RunNowProps): ReactNode {
  const t = useAnalysesText();
  const { client, toasts } = useApp();
  const mayRun = useMay("run-cleanup");
  const isPast = usePast() !== null;
  const run = useMutation({
    mutationFn: () =>
      client.sensitive(t.analyses.runNow, () => client.json<CleanupDone>("/api/saju/cleanup-runs", { method: "POST" })),
    onSuccess: (done) => {
      toasts.show({ kind: "done", title: t.analyses.cleanedNow(done.cleaned_count, done.users_count) });
      openRun(done.run_id);
    },
  });
  if (!mayRun || isPast) return null;
  return (
    <>
      <Button icon="play" disabled={run.isPending} onClick={() => ask(true)}>
        {t.analyses.runNow}
      </Button>
      {isAsking && (
        <Confirm
          title={t.analyses.runNowTitle}
          lead={t.analyses.runNowLead}
          keep={t.common.cancel}
          yes={t.analyses.runNow}
          close={() => ask(false)}
          confirm={() => run.mutate()}
        />
      )}
    </>
  );
}
