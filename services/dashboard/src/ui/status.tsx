/** States in colour and words: never colour alone. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import type { Phase, Shown } from "@/lib/live/fleet";
import type { JobStatus } from "@/lib/rest/rows";

export type Tone = "busy" | "online" | "held" | "error" | "offline";

const DOTS: Record<Tone, string> = {
  busy: "bg-busy",
  online: "bg-online",
  held: "bg-held",
  error: "bg-error",
  offline: "border border-ink-3 bg-transparent",
};

const BADGES: Record<Tone, string> = {
  busy: "bg-busy-soft text-busy-ink",
  online: "bg-online-soft text-online-ink",
  held: "bg-held-soft text-held-ink",
  error: "bg-error-soft text-error-ink",
  offline: "bg-offline-soft text-offline-ink",
};

export function Dot({ tone }: { tone: Tone }): ReactNode {
  return <span aria-hidden="true" className={`inline-block size-2 shrink-0 rounded-full ${DOTS[tone]}`} />;
}

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }): ReactNode {
  return (
    <span
      className={`inline-flex h-5 items-center rounded px-1.5 text-xs font-medium whitespace-nowrap ${BADGES[tone]}`}
    >
      {children}
    </span>
  );
}

export function ShownBadge({ shown }: { shown: Shown }): ReactNode {
  const t = useText();
  return <Badge tone={shown}>{t.shown[shown]}</Badge>;
}

const JOB_TONES: Record<JobStatus, Tone> = {
  created: "offline",
  active: "busy",
  paused: "held",
  completed: "online",
  expired: "held",
  deactivated: "error",
  cancelled: "offline",
};

export function JobBadge({ status }: { status: JobStatus }): ReactNode {
  const t = useText();
  return <Badge tone={JOB_TONES[status]}>{t.jobStatus[status]}</Badge>;
}

export const PHASE_TONES: Record<Phase, Tone> = {
  waiting: "offline",
  offered: "offline",
  sent: "offline",
  running: "busy",
  retrying: "held",
  completed: "online",
  failed: "error",
  cancelled: "offline",
};

export function PhaseBadge({ phase }: { phase: Phase }): ReactNode {
  const t = useText();
  return <Badge tone={PHASE_TONES[phase]}>{t.phases[phase]}</Badge>;
}
