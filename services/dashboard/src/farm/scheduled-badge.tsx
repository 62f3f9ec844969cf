/** Of a job that waits for its time. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Badge } from "@/ui/status";

export function ScheduledBadge(): ReactNode {
  const t = useText();
  return <Badge tone="offline">{t.queue.scheduled}</Badge>;
}
