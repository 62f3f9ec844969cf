/** What can be done with the ended jobs that are selected: run them again where they failed. */
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { useBulk } from "@/farm/use-bulk";
import type { JobRow } from "@/lib/rest/rows";
import { Button } from "@/ui/button";
import { AGAIN_MAX, againWhereFailed } from "./again-many";

export function AgainBar({ jobs, done }: { jobs: readonly JobRow[]; done: () => void }): ReactNode {
  const t = useOperateText();
  const { client } = useApp();
  const some = jobs.slice(0, AGAIN_MAX);
  const run = useBulk({
    label: t.operate.againLabel(some.length),
    run: (chosen: readonly JobRow[], key) => againWhereFailed(client, chosen, t.operate.againNothing, key),
    said: (count) => t.operate.againDone(count),
    nameOf: (id) => jobs.find((job) => job.id === id)?.title ?? t.queue.untitled,
    done,
  });
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line bg-accent-soft px-4 py-2">
      <span className="text-sm font-medium">{t.common.selected(some.length)}</span>
      <Button icon="reset" disabled={run.isPending} onClick={() => run.mutate(some)}>
        {t.operate.againMany(some.length)}
      </Button>
      <Button kind="quiet" onClick={done}>
        {t.operate.clearSelection}
      </Button>
    </div>
  );
}
