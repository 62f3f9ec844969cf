/** What went wrong: open alerts first, then what attempts failed with. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useIsReading, useLive } from "@/app/context";
import { alertSubject, alertTitle } from "@/farm/alert-text";
import { codeName, codeText } from "@/farm/code";
import { useOpenAlerts } from "@/farm/open-alerts";
import { useTally } from "@/farm/use-tally";
import { useText } from "@/lib/i18n/i18n";
import { alertKey } from "@/lib/live/fleet";
import { WINDOW_S } from "@/lib/live/tally";
import { useFormat } from "@/lib/time/format";
import { Icon } from "@/ui/icon";
import { Card } from "@/ui/page";
import { Empty, Loading } from "@/ui/states";

const ALERTS_SHOWN = 3;
const CAUSES_SHOWN = 5;

export function Wrong(): ReactNode {
  const t = useText();
  const isReading = useIsReading();
  const { fleet } = useLive();
  const { tally, now } = useTally();
  const format = useFormat();
  const alerts = useOpenAlerts();
  const causes = new Map<string, number>();
  for (const [code, times] of tally.causesSince(now - WINDOW_S * 1000))
    causes.set(codeName(code), (causes.get(codeName(code)) ?? 0) + times);
  const ranked = [...causes].sort(([, a], [, b]) => b - a).slice(0, CAUSES_SHOWN);
  const most = ranked[0]?.[1] ?? 1;
  return (
    <Card
      title={t.overview.wrong}
      aside={<span className="text-xs text-ink-3">{t.overview.lastMinutes(WINDOW_S / 60)}</span>}
    >
      {alerts.slice(0, ALERTS_SHOWN).map((alert) => (
        <Link
          key={alertKey(alert)}
          to="/alerts"
          className="mb-2 flex items-start gap-2 rounded-md bg-error-soft px-2.5 py-1.5 text-sm text-error-ink hover:underline"
        >
          <Icon name="alerts" className="mt-0.5" />
          <span className="min-w-0 flex-1 break-words">
            {[alertTitle(t, alert.kind), alertSubject(fleet, alert)].filter((part) => part !== null).join(" · ")}
          </span>
          <span className="shrink-0 text-xs">{format.moment(alert.raised_at)}</span>
        </Link>
      ))}
      {ranked.length === 0 &&
        alerts.length === 0 &&
        (isReading ? <Loading isSmall /> : <Empty isSmall icon="check" title={t.overview.nothingWrong} />)}
      {ranked.length > 0 && (
        <ul aria-label={t.overview.failures} className="flex flex-col gap-2 pt-1">
          {ranked.map(([code, times]) => (
            <li key={code} title={code} className="text-sm">
              <div className="flex justify-between gap-2">
                <span className="truncate">{codeText(t, code)}</span>
                <span className="font-medium">{format.number(times)}</span>
              </div>
              <div className="mt-1 h-1 overflow-hidden rounded-full bg-sunken">
                <div
                  className="h-full bg-error transition-[width] duration-500"
                  style={{ width: `${(100 * times) / most}%` }}
                />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
