/** Which phones had a job in hand at that moment. What each had done before is not kept. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { useLive } from "@/app/context";
import { shortId } from "@/farm/short-id";
import { useText } from "@/lib/i18n/i18n";
import { useTopic } from "@/lib/live/hooks";
import { Section } from "@/ui/side-panel";
import { PhaseBadge } from "@/ui/status";

export function PastAssignments({ job }: { job: string }): ReactNode {
  const t = useText();
  const { fleet } = useLive();
  const version = useTopic(fleet.assignments, job);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is in the table
  const inHand = useMemo(
    () => [...fleet.assignments.values()].filter((assignment) => assignment.job === job),
    [fleet, job, version],
  );
  return (
    <Section title={t.past.inHand}>
      {inHand.length === 0 && <p className="text-sm text-ink-3">{t.past.nothingInHand}</p>}
      <ul>
        {inHand.map((assignment) => (
          <li key={assignment.id} className="flex h-9 items-center gap-2 border-t border-line text-sm first:border-t-0">
            <Link
              to="/fleet"
              search={{ device: assignment.device }}
              className="min-w-0 flex-1 truncate font-mono text-xs underline-offset-2 hover:underline"
            >
              {fleet.devices.get(assignment.device)?.serial ?? shortId(assignment.device)}
            </Link>
            {assignment.attempt > 1 && (
              <span className="text-xs text-ink-3">{t.device.attempt(assignment.attempt)}</span>
            )}
            {assignment.phase === "running" && <span className="text-xs text-ink-2">{assignment.progress} %</span>}
            <PhaseBadge phase={assignment.phase} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
