/** Whether the page shows what is, or what was. */
import { type ReactNode, useEffect, useState } from "react";
import { useText } from "@/lib/i18n/i18n";
import type { LiveStatus } from "@/lib/live/live";
import { useObservable } from "@/lib/react/use-observable";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { useLive } from "./context";
import { usePast } from "./past";

/** A line that is back at once is not worth a word. */
const SAY_AFTER_MS = 1_500;

/** What the menu calls the contexts. */
const PLACES = { fleet: "fleet", render: "renders", analysis: "analyses", reminder: "reminders" } as const;

export function LiveBanner(): ReactNode {
  const live = useLive();
  const status = useObservable(live.status);
  const isLost = useStays(status.phase === "lost", SAY_AFTER_MS);
  const stale = useObservable(live.stale);
  const isStale = useStays(stale.size > 0, SAY_AFTER_MS);
  const t = useText();
  if (status.phase === "refused") {
    return <Strip title={t.live.refused}>{t.live.refusedHint}</Strip>;
  }
  if (isLost && status.phase === "lost") return <Lost status={status} retry={() => live.retryNow()} />;
  return isStale && stale.size > 0 ? <Stale contexts={stale} /> : null;
}

function Strip({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-held-soft px-6 py-1.5 max-sm:px-4 text-sm text-held-ink"
    >
      <strong className="font-medium">{title}</strong> {children}
    </div>
  );
}

/** The line is there, and the tables behind it do not move: their database or their projector is away. */
function Stale({ contexts }: { contexts: ReadonlySet<string> }): ReactNode {
  const t = useText();
  const parts = [...contexts].map((context) => {
    const place = PLACES[context as keyof typeof PLACES];
    return place === undefined ? context : t.places[place];
  });
  return <Strip title={t.live.stale}>{t.live.staleHint(parts.join(", "))}</Strip>;
}

function Lost({ status, retry }: { status: LiveStatus & { phase: "lost" }; retry: () => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(1_000);
  return (
    <Strip title={t.live.lost}>
      <span>{t.live.lostSince(format.clock(status.since))}</span>
      {/* Not read out: it changes every second. */}
      <span aria-hidden="true">{t.live.retryIn(Math.ceil((status.retryAt - now) / 1000))}</span>
      <Button className="ml-auto h-7" onClick={retry}>
        {t.live.retryNow}
      </Button>
    </Strip>
  );
}

export function LiveDot(): ReactNode {
  const live = useLive();
  const status = useObservable(live.status);
  const isStale = useObservable(live.stale).size > 0;
  const t = useText();
  const isPast = usePast() !== null;
  const now = {
    connecting: t.live.connecting,
    loading: t.live.loading(status.phase === "loading" ? status.devices : 0),
    live: isStale ? t.live.stale : t.live.live,
    lost: t.live.lost,
    refused: t.live.refused,
  }[status.phase];
  const text = isPast ? t.past.short : now;
  const colour = {
    live: isStale ? "bg-held" : "bg-online",
    lost: "bg-error",
    refused: "bg-error",
    connecting: "bg-held",
    loading: "bg-held",
  };
  return (
    <p
      role="status"
      title={text}
      className="flex h-7 items-center gap-2.5 px-2.5 text-xs text-ink-3 max-lg:justify-center max-lg:px-0 max-sm:w-6"
    >
      <span className={`size-2 shrink-0 rounded-full ${isPast ? "bg-held" : colour[status.phase]}`} />
      <span className="truncate max-lg:sr-only">{text}</span>
    </p>
  );
}

/** True when it has been true for so long; false at once. */
function useStays(value: boolean, ms: number): boolean {
  const [stays, setStays] = useState(false);
  useEffect(() => {
    if (!value) {
      setStays(false);
      return;
    }
    const timer = setTimeout(() => setStays(true), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return stays;
}
