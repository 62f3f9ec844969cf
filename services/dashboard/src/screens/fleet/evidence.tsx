/** What a phone sent along with a failure: a screenshot, and the activities that were open. */
import type { ReactNode } from "react";
import { CopyButton } from "@/ui/copy";
import { Icon } from "@/ui/icon";
import { useEvidenceText } from "./evidence-words";
import { activitiesOf, screenshotOf } from "./reference";
import type { Run } from "./runs";
import { OwnScreenshot } from "./screenshot";

interface EvidenceProps {
  readonly run: Pick<Run, "screenshot" | "stack" | "assignment">;
  readonly device: { readonly id: string; readonly serial: string };
}

export function Evidence({ run, device }: EvidenceProps): ReactNode {
  if (run.screenshot === null && run.stack === null) return null;
  return (
    <div className="col-span-2 mt-1 flex min-w-0 flex-col items-start gap-1.5">
      {run.screenshot !== null && <Screenshot reference={run.screenshot} device={device} assignment={run.assignment} />}
      {run.stack !== null && <Stack stack={run.stack} />}
    </div>
  );
}

function Screenshot({
  reference,
  ...of
}: Pick<EvidenceProps, "device"> & { reference: string; assignment: string }): ReactNode {
  const t = useEvidenceText();
  const shot = screenshotOf(reference);
  if (shot.kind === "own") return <OwnScreenshot key={shot.path} path={shot.path} {...of} />;
  if (shot.kind === "link") {
    return (
      <a
        href={shot.href}
        title={shot.href}
        target="_blank"
        rel="noopener noreferrer"
        className="inline-flex min-w-0 max-w-full items-center gap-1 text-xs underline underline-offset-2"
      >
        <Icon name="link" />
        <span className="truncate">
          {t.evidence.elsewhere} ({new URL(shot.href).host})
        </span>
      </a>
    );
  }
  return (
    <span className="flex w-full min-w-0 items-center text-xs text-ink-3" title={t.evidence.reference}>
      <span className="truncate font-mono">{shot.text}</span>
      <CopyButton text={shot.text} />
    </span>
  );
}

function Stack({ stack }: { stack: string }): ReactNode {
  const t = useEvidenceText();
  return (
    <details className="w-full min-w-0 text-xs text-ink-3">
      <summary className="cursor-pointer py-1 pointer-coarse:py-2">{t.evidence.stack}</summary>
      <ol className="mt-1 max-h-48 list-decimal overflow-auto rounded bg-sunken py-2 pr-2 pl-7 font-mono break-all">
        {activitiesOf(stack).map((activity, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same activity may be open twice, and the list never changes
          <li key={index}>{activity}</li>
        ))}
      </ol>
    </details>
  );
}
