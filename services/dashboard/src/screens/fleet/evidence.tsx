/** What a phone sent along with a failure: the reference of a screenshot, and the activities that were open. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import type { Run } from "./runs";

export function Evidence({ run }: { run: Pick<Run, "screenshot" | "stack"> }): ReactNode {
  const t = useText();
  return (
    <>
      {run.screenshot !== null && (
        <span className="col-span-2 truncate font-mono text-xs text-ink-3">{run.screenshot}</span>
      )}
      {run.stack !== null && (
        <details className="col-span-2 min-w-0 text-xs text-ink-3">
          <summary className="cursor-pointer">{t.device.activityStack}</summary>
          <pre className="mt-1 max-h-48 overflow-auto rounded bg-sunken p-2 font-mono whitespace-pre-wrap break-words">
            {run.stack}
          </pre>
        </details>
      )}
    </>
  );
}
