/** What needs a person: what happened, what it is about, and what to do. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApp, useIsReading, useLive } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { usePast } from "@/app/past";
import { useOverlaid } from "@/app/use-rows";
import { alertAdvice, alertSubject, alertTitle } from "@/farm/alert-text";
import { byRaised, useOpenAlerts } from "@/farm/open-alerts";
import { useText } from "@/lib/i18n/i18n";
import { alertKey } from "@/lib/live/fleet";
import type { ListOf } from "@/lib/live/overlay";
import { rows } from "@/lib/rest/read";
import type { AlertRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { buttonClass } from "@/ui/button";
import { Segmented } from "@/ui/field";
import { Icon } from "@/ui/icon";
import { Page } from "@/ui/page";
import { Empty, Loading, Unread } from "@/ui/states";
import { WayElsewhere } from "./elsewhere";
import { HandleAlert, Handled } from "./handled";

const PAST_MAX = 200;

export function Alerts(): ReactNode {
  const t = useText();
  const { past } = useSearch({ from: "/inside/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const isPast = usePast() !== null;
  usePageTitle(t.alerts.title);
  return (
    <Page
      title={t.alerts.title}
      tools={
        <>
          <Segmented
            label={t.alerts.title}
            value={past ? "past" : "open"}
            choices={[
              { value: "open", label: t.alerts.open },
              { value: "past", label: t.alerts.past },
            ]}
            onChange={(value) => void navigate({ search: value === "past" ? { past: true } : {}, replace: true })}
          />
          {!isPast && (
            <ExportButton
              of={t.alerts.title}
              what={() => ({
                relation: "alerts",
                query: { resolved_at: past ? "not.is.null" : "is.null", order: "raised_at.desc" },
              })}
            />
          )}
        </>
      }
    >
      <div className="page-body">{past ? <Past /> : <Open />}</div>
    </Page>
  );
}

function Open(): ReactNode {
  const t = useText();
  const isReading = useIsReading();
  const alerts = useOpenAlerts();
  if (alerts.length === 0 && isReading) return <Loading />;
  if (alerts.length === 0) return <Empty icon="check" title={t.alerts.noneOpen} hint={t.alerts.noneOpenHint} />;
  return <List alerts={alerts} />;
}

const NONE: readonly AlertRow[] = [];
const RESOLVED: ListOf<AlertRow> = {
  keyOf: alertKey,
  rowOf: (told) => told as unknown as AlertRow,
  changedAt: (alert) => alert.resolved_at ?? alert.raised_at,
  isShown: (alert) => alert.resolved_at !== null,
  compare: byRaised,
};

function Past(): ReactNode {
  const t = useText();
  const { client } = useApp();
  const past = usePast();
  const answer = useQuery({
    queryKey: ["past-alerts", past?.iso],
    queryFn: () => {
      const resolved_at = past === null ? "not.is.null" : `lte.${past.iso}`;
      return rows<AlertRow>(client, "alerts", { resolved_at, order: "raised_at.desc", limit: PAST_MAX });
    },
  });
  const { data } = answer;
  const isAll = data !== undefined && data.length < PAST_MAX;
  const alerts = useOverlaid("alerts", data ?? NONE, RESOLVED, { isAll, queryKey: ["past-alerts"] });
  if (data === undefined) return <Unread of={answer} isSmall={false} />;
  if (alerts.length === 0) return <Empty icon="check" title={t.alerts.nonePast} />;
  return <List alerts={alerts} />;
}

function List({ alerts }: { alerts: readonly AlertRow[] }): ReactNode {
  return (
    <ul className="flex max-w-4xl flex-col gap-3">
      {alerts.map((alert) => (
        <li key={alertKey(alert)}>
          <Alert alert={alert} />
        </li>
      ))}
    </ul>
  );
}

function Alert({ alert }: { alert: AlertRow }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(5_000);
  const isOpen = alert.resolved_at === null;
  const advice = alertAdvice(t, alert.kind);
  const { fleet } = useLive();
  const subject = alertSubject(fleet, alert);
  return (
    <article className="card flex gap-3 px-4 py-3 max-sm:flex-wrap">
      <Icon
        name={isOpen ? "alerts" : "check"}
        className={`mt-0.5 size-5 ${isOpen ? "text-error-ink" : "text-ink-3"}`}
      />
      <div className="min-w-0 flex-1">
        <h2 className="font-medium">
          {alertTitle(t, alert.kind)}
          {subject !== null && <span className="font-normal text-ink-2"> · {subject}</span>}
        </h2>
        <p className="text-sm break-words text-ink-2">{alert.message}</p>
        {isOpen && advice !== null && <p className="mt-1.5 text-sm text-ink-3">{advice}</p>}
        {isOpen && alert.until !== null && (
          <p className="text-sm text-ink-3">{t.alerts.until(format.moment(alert.until))}</p>
        )}
        <Handled alert={alert} />
        <HandleAlert alert={alert} />
      </div>
      <div className="flex shrink-0 flex-col items-end justify-between gap-2 max-sm:basis-full max-sm:flex-row max-sm:items-center">
        <span className="text-sm text-ink-3" title={format.full(alert.raised_at)}>
          {format.ago(alert.raised_at, now)}
          {alert.resolved_at !== null && ` · ${t.alerts.over} ${format.moment(alert.resolved_at)}`}
        </span>
        <Subject alert={alert} />
      </div>
    </article>
  );
}

/** The way to what it is about. */
function Subject({ alert }: { alert: AlertRow }): ReactNode {
  const t = useText();
  const { fleet } = useLive();
  const { subject } = alert;
  const className = buttonClass("plain");
  if (fleet.devices.get(subject) !== undefined) {
    return (
      <Link to="/fleet" search={{ device: subject }} className={className}>
        {t.alerts.showDevice}
      </Link>
    );
  }
  if (fleet.pcs.get(subject) !== undefined) {
    return (
      <Link to="/fleet" search={{ pc: subject }} className={className}>
        {t.alerts.showPc}
      </Link>
    );
  }
  if (alert.kind !== "poison_job") return <WayElsewhere alert={alert} className={className} />;
  return (
    <Link to="/queue" search={{ job: subject }} className={className}>
      {t.alerts.showJob}
    </Link>
  );
}
