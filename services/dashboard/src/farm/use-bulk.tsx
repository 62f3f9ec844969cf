/** Does one thing with many: a note when all went well, else a report of what was refused and why. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import type { Report } from "@/lib/rest/bulk";
import { randomKey } from "@/lib/rest/key";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { useOperateText } from "./operate-words";

interface Bulk<Body> {
  /** What is offered again after a sign-in. */
  readonly label: string;
  readonly run: (body: Body, key: string) => Promise<Report>;
  /** What is said when all of them were done. */
  readonly said: (count: number, body: Body) => string;
  readonly nameOf: (item: string) => string;
  readonly done?: (report: Report) => void;
}

export function useBulk<Body = void>({ label, run, said, nameOf, done }: Bulk<Body>) {
  const { client, toasts } = useApp();
  const show = useDialog();
  return useMutation({
    mutationFn: (body: Body) => {
      const key = randomKey();
      return client.sensitive(label, () => run(body, key));
    },
    onSuccess: (report, body) => {
      done?.(report);
      if (report.refused.length === 0) toasts.show({ kind: "done", title: said(report.done, body) });
      else show((close) => <Refusals report={report} nameOf={nameOf} close={close} />);
    },
  });
}

function Refusals({
  report: { done, refused },
  nameOf,
  close,
}: {
  report: Report;
  nameOf: (item: string) => string;
  close: () => void;
}): ReactNode {
  const t = useOperateText();
  return (
    <Dialog
      close={close}
      title={t.operate.refusedTitle(refused.length)}
      lead={t.operate.refusedLead(done)}
      width="w-xl"
    >
      <ul className="max-h-80 overflow-y-auto text-sm" aria-label={t.operate.refusedTitle(refused.length)}>
        {refused.map(({ item, why }) => (
          <li key={item} className="flex gap-3 border-t border-line py-1.5 first:border-t-0">
            <span className="w-40 shrink-0 truncate font-mono text-xs leading-5">{nameOf(item)}</span>
            <span className="min-w-0 flex-1 text-ink-2">{why ?? t.operate.refusedToo}</span>
          </li>
        ))}
      </ul>
      <div className="mt-4 flex justify-end">
        <Button autoFocus onClick={close}>
          {t.common.close}
        </Button>
      </div>
    </Dialog>
  );
}
