/** Where a render stands, in colour and words; and what went wrong with it. */
import type { ReactNode } from "react";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";
import type { RenderStatus } from "@/lib/rest/render-rows";
import { Badge, type Tone } from "@/ui/status";

const TONES: Record<RenderStatus, Tone> = {
  pending: "offline",
  preparing: "busy",
  rendering: "busy",
  encoding: "busy",
  uploading: "busy",
  completed: "online",
  failed: "error",
  cancelled: "offline",
};

export function RenderBadge({ status }: { status: RenderStatus }): ReactNode {
  const t = useText();
  return <Badge tone={TONES[status]}>{t.renders.status[status]}</Badge>;
}

/** A fault, or why a render changed hands, in words; one that this page does not know yet, as it is. */
export function faultText(t: Dictionary, code: string): string {
  const { faults, reasons } = t.renders;
  if (Object.hasOwn(faults, code)) return faults[code as keyof typeof faults];
  return Object.hasOwn(reasons, code) ? reasons[code as keyof typeof reasons] : code;
}
