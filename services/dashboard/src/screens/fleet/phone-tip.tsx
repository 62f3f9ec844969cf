/** What a phone does, beside the pointer. One for all phones of the page. */
import { type ReactNode, type RefObject, useEffect, useState } from "react";
import { useLive } from "@/app/context";
import { codeText } from "@/farm/code";
import { useText } from "@/lib/i18n/i18n";
import { shownAs } from "@/lib/live/fleet";
import { useRow } from "@/lib/live/hooks";
import { Dot } from "@/ui/status";

interface Spot {
  readonly id: string;
  readonly left: number;
  readonly top: number;
}

const WIDTH = 240;
const HEIGHT = 84;
const AWAY = 8;

export function PhoneTip({ within }: { within: RefObject<HTMLElement | null> }): ReactNode {
  const [spot, setSpot] = useState<Spot | null>(null);
  useEffect(() => {
    const area = within.current;
    if (area === null) return;
    const show = (event: Event) => {
      const phone = (event.target as HTMLElement).closest<HTMLElement>("[data-device]");
      if (phone?.dataset["device"] === undefined) return setSpot(null);
      const box = phone.getBoundingClientRect();
      const isLow = box.bottom + AWAY + HEIGHT > innerHeight;
      setSpot({
        id: phone.dataset["device"],
        left: Math.min(box.left, innerWidth - WIDTH - AWAY),
        top: isLow ? box.top - AWAY - HEIGHT : box.bottom + AWAY,
      });
    };
    const hide = () => setSpot(null);
    const events = [
      ["pointerover", show],
      ["pointerleave", hide],
      ["scroll", hide],
      ["focusin", show],
      ["focusout", hide],
    ] as const;
    for (const [name, listener] of events) area.addEventListener(name, listener, { passive: true });
    return () => {
      for (const [name, listener] of events) area.removeEventListener(name, listener);
    };
  }, [within]);
  return spot === null ? null : <Tip spot={spot} />;
}

function Tip({ spot }: { spot: Spot }): ReactNode {
  const { fleet } = useLive();
  const t = useText();
  const device = useRow(fleet.devices, spot.id);
  const assignment = useRow(fleet.assignments, device?.assignment);
  const job = useRow(fleet.jobs, assignment?.job);
  if (device === undefined) return null;
  const shown = shownAs(device);
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none fixed z-30 rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-raised"
      style={{ left: spot.left, top: spot.top, width: WIDTH, minHeight: HEIGHT }}
    >
      <p className="font-mono text-xs text-ink-2">{device.serial}</p>
      <p className="flex items-center gap-2">
        <Dot tone={shown} /> {t.shown[shown]}
        <span className="ml-auto text-xs text-ink-3">{device.group}</span>
      </p>
      <p className="truncate text-ink-2">
        {device.errorCode !== null && codeText(t, device.errorCode)}
        {device.errorCode === null &&
          assignment !== undefined &&
          `${job?.title ?? t.queue.untitled} · ${assignment.phase === "running" ? `${assignment.progress} %` : t.phases[assignment.phase]}`}
      </p>
    </div>
  );
}
