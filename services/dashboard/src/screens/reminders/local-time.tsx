/** A moment on the clock of the user whom it is about. */
import type { ReactNode } from "react";
import { useFormat } from "@/lib/time/format";
import { inZone } from "@/lib/time/zone";
import { useRemindersText } from "./words";

export function LocalTime({ at, zone }: { at: string; zone: string | undefined }): ReactNode {
  const t = useRemindersText();
  const format = useFormat();
  if (zone === undefined) return <span title={t.reminders.yourClock}>{format.moment(at)}</span>;
  const { text, zone: named } = inZone(t.locale, at, zone);
  return (
    <span title={`${named} · ${t.reminders.yourClock} ${format.full(at)}`}>
      {text} <span className="text-xs text-ink-3">{named.split(", ").at(-1)}</span>
    </span>
  );
}
