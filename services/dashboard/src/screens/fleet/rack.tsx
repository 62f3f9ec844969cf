/** One PC as a rack of its phones. Drawn again when one of them changes, and only then. */
import { type KeyboardEvent, memo, type ReactNode } from "react";
import { useLive } from "@/app/context";
import { useOperateText } from "@/farm/operate-words";
import { useText } from "@/lib/i18n/i18n";
import { type Assignment, type Device, shownAs } from "@/lib/live/fleet";
import { useRow, useTopic } from "@/lib/live/hooks";
import { useFormat } from "@/lib/time/format";
import { PHONES_IN_ROW, SLOTS } from "./layout";
import { isMeant, type Wish } from "./select";

interface RackProps {
  readonly id: string;
  readonly wish: Wish;
  readonly selected: string | null;
  /** Ids of its phones that are selected for an action, in one text: so a rack is drawn anew when they change. */
  readonly chosen: string;
}

export const Rack = memo(function Rack({ id, wish, selected, chosen }: RackProps): ReactNode {
  const { fleet } = useLive();
  const t = useText();
  const format = useFormat();
  const pc = useRow(fleet.pcs, id);
  useTopic(fleet.devices, id);
  const devices = fleet.devicesOf(id).flatMap((device) => fleet.devices.get(device) ?? []);
  const inUse = devices.filter((device) => device.assignment !== null).length;
  const inError = devices.filter((device) => device.errorCode !== null).length;
  const slots = Math.min(pc?.capacity ?? SLOTS, devices.length);
  const held = pc?.heldUntil ?? null;
  const chosenIds = new Set(chosen === "" ? [] : chosen.split(" "));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a set of form fields it is not
    <section role="group" aria-label={t.fleet.rack(id)} className="rack" data-held={held !== null}>
      <header className="rack-head">
        <button type="button" className="rack-name" data-pc={id}>
          {id}
        </button>
        {held !== null && (
          <span className="text-xs font-medium text-held-ink" title={t.fleet.pcHeld(format.moment(held))}>
            {t.fleet.pcHeldShort}
          </span>
        )}
        <span className="ml-auto flex items-center gap-2 text-xs text-ink-3" title={t.fleet.inUse(inUse, slots)}>
          {inError > 0 && (
            <span className="text-error-ink">
              {inError} <span className="sr-only">{t.shown.error}</span>
              <span aria-hidden="true">!</span>
            </span>
          )}
          <span>
            {inUse}/{slots}
          </span>
        </span>
      </header>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrows lead from phone to phone */}
      <div className="rack-slots" onKeyDown={moveFocus}>
        {devices.map((device, index) => (
          <Phone
            key={device.id}
            device={device}
            assignment={device.assignment === null ? undefined : fleet.assignments.get(device.assignment)}
            isDim={!isMeant(device, wish)}
            isSelected={device.id === selected}
            isChosen={chosenIds.has(device.id)}
            isFirst={index === 0}
          />
        ))}
        {Array.from({ length: Math.max(0, SLOTS - devices.length) }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
          <span key={index} className="slot-empty" />
        ))}
      </div>
    </section>
  );
});

interface PhoneProps {
  readonly device: Device;
  readonly assignment: Assignment | undefined;
  readonly isDim: boolean;
  readonly isSelected: boolean;
  readonly isChosen: boolean;
  readonly isFirst: boolean;
}

const Phone = memo(function Phone(props: PhoneProps): ReactNode {
  const { device, assignment, isDim, isSelected, isChosen, isFirst } = props;
  const t = useOperateText();
  const shown = shownAs(device);
  const phase = assignment?.phase;
  return (
    <button
      type="button"
      className="phone"
      data-device={device.id}
      data-shown={shown}
      data-phase={phase}
      data-dim={isDim || undefined}
      data-chosen={isChosen || undefined}
      aria-pressed={isSelected}
      aria-label={`${device.serial}, ${t.shown[shown]}${phase === "running" ? `, ${assignment?.progress} %` : ""}${isChosen ? `, ${t.operate.isSelected}` : ""}`}
      tabIndex={isFirst || isSelected ? 0 : -1}
    >
      {shown === "busy" && (
        <span className="phone-progress" style={{ transform: `scaleY(${(assignment?.progress ?? 0) / 100})` }} />
      )}
    </button>
  );
});

/** Within a rack by arrows: a rack is one stop of the Tab key. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: PHONES_IN_ROW, ArrowUp: -PHONES_IN_ROW }[event.key];
  if (step === undefined) return;
  const phones = [...event.currentTarget.querySelectorAll<HTMLButtonElement>(".phone")];
  const next = phones[phones.indexOf(document.activeElement as HTMLButtonElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
