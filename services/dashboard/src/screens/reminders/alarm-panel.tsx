/** One alarm: when it is due and for whom, and all that became of its sendings. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo } from "react";
import { useApp, useMay } from "@/app/context";
import { useOverlaid } from "@/app/use-rows";
import { Erase } from "@/farm/erase";
import { EventsLink } from "@/farm/events-link";
import { WorkWhy } from "@/farm/work-why";
import { reminderRows } from "@/lib/rest/reminder-reads";
import {
  ALARM_COLUMNS,
  type AlarmEventRow,
  type AlarmRow,
  type SubscriptionRow,
  type UserInfoRow,
} from "@/lib/rest/reminder-rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { faultText } from "./history";
import { LocalTime } from "./local-time";
import { alarmList, FAILURES, nextAt, standingOf } from "./standing";
import { StandingBadge } from "./upcoming";
import { useRemindersText } from "./words";

interface AlarmPanelProps {
  readonly page: string;
  readonly user: string;
  readonly close: () => void;
}

const LINES_MAX = 200;

export function AlarmPanel({ page, user, close }: AlarmPanelProps): ReactNode {
  const t = useRemindersText();
  const now = useNow(1_000);
  const { client } = useApp();
  const maySee = useMay("see-alarms");
  const of = { page_id: `eq.${page}`, user_id: `eq.${user}` };
  const alarm = useQuery({
    queryKey: ["alarms", "one", user, page],
    queryFn: async () => (await reminderRows<AlarmRow>(client, "alarm", { select: ALARM_COLUMNS, ...of }))[0] ?? null,
    enabled: maySee,
  });
  const { data } = alarm;
  const fault = useCallback((code: string) => faultText(t, code), [t]);
  return (
    <SidePanel
      title={data?.title || page}
      badge={data != null ? <StandingBadge standing={standingOf(data, now)} /> : undefined}
      subtitle={user}
      close={close}
    >
      {alarm.error !== null && data === undefined ? (
        <Unread of={alarm} />
      ) : data != null ? (
        <About alarm={data} />
      ) : (
        <p className="border-b border-line px-4 py-3 text-sm text-ink-3">
          {!maySee ? t.reminders.hidden : data === null ? t.reminders.gone : t.common.loading}
        </p>
      )}
      {data !== null && (
        <WorkWhy of={`reminders/${encodeURIComponent(user)}/${encodeURIComponent(page)}`} fault={fault} />
      )}
      <Person user={user} />
      <Section title={t.reminders.history} aside={<EventsLink entity={page}>{t.reminders.itsEvents}</EventsLink>}>
        <Lines page={page} user={user} zone={data?.user_info?.timezone} />
      </Section>
    </SidePanel>
  );
}

function About({ alarm }: { alarm: AlarmRow }): ReactNode {
  const t = useRemindersText();
  const format = useFormat();
  const now = useNow(1_000);
  const zone = alarm.user_info?.timezone;
  const standing = standingOf(alarm, now);
  const facts: [string, ReactNode][] = [
    [t.reminders.next, <LocalTime key="next" at={alarm.next_alarm_time} zone={zone} />],
    [t.reminders.onYours, format.full(alarm.next_alarm_time)],
    [t.reminders.sending, format.number(alarm.sent_count)],
  ];
  if (standing === "sending") facts.push([t.reminders.againAt, format.full(nextAt(alarm))]);
  if (standing === "retrying") facts.push([t.reminders.retryAt, format.full(nextAt(alarm))]);
  if (alarm.attempt > 1) facts.push([t.reminders.attempt, format.number(alarm.attempt)]);
  if (alarm.shift_min > 0) facts.push([t.reminders.shifted, t.reminders.shiftedBy(alarm.shift_min)]);
  if (alarm.last_sent_at !== null) facts.push([t.reminders.lastSent, format.full(alarm.last_sent_at)]);
  if (alarm.last_error !== null) {
    facts.push([
      t.reminders.fault,
      <span key="fault" className="text-error-ink">
        {faultText(t, alarm.last_error)}
      </span>,
    ]);
  }
  return (
    <Section title={t.common.details}>
      {alarm.body !== "" && <p className="mb-2 text-sm break-words whitespace-pre-line">{alarm.body}</p>}
      <Facts facts={facts} />
    </Section>
  );
}

function Person({ user }: { user: string }): ReactNode {
  const t = useRemindersText();
  const { client } = useApp();
  const { data } = useQuery({
    queryKey: ["reminded", user],
    queryFn: async () => {
      const [info, subscriptions] = await Promise.all([
        reminderRows<UserInfoRow>(client, "user_info", { user_id: `eq.${user}` }),
        reminderRows<SubscriptionRow>(client, "push_subscriptions", { user_id: `eq.${user}`, ended_at: "is.null" }),
      ]);
      return { zone: info[0]?.timezone, subscriptions };
    },
  });
  if (data === undefined) return null;
  return (
    <Section title={t.reminders.user} aside={<Erase what="users" id={user} name={user} />}>
      <Facts
        facts={[
          [t.reminders.zone, data.zone ?? t.common.unknown],
          [t.reminders.subscriptions, t.reminders.subscribed(data.subscriptions.length)],
        ]}
      />
    </Section>
  );
}

const NONE: readonly AlarmEventRow[] = [];

function Lines({ page, user, zone }: { page: string; user: string; zone: string | undefined }): ReactNode {
  const t = useRemindersText();
  const format = useFormat();
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["alarm-history", "of", user, page],
    queryFn: () =>
      reminderRows<AlarmEventRow>(client, "alarms_event", {
        page_id: `eq.${page}`,
        user_id: `eq.${user}`,
        order: "created_at.desc,id.desc",
        limit: LINES_MAX,
      }),
  });
  const { data } = answer;
  const list = useMemo(() => alarmList(user, page), [user, page]);
  const lines = useOverlaid("alarms_event", data ?? NONE, list, { isAll: true, queryKey: ["alarm-history"] });
  if (data === undefined) return <Unread of={answer} />;
  if (lines.length === 0) return <p className="text-sm text-ink-3">{t.reminders.noHistory}</p>;
  return (
    <ol className="ml-1 border-l border-line-strong pl-3">
      {lines.map((line) => (
        <li key={line.id} className="py-1 text-sm">
          <p className="flex items-baseline gap-2">
            <span
              className={
                FAILURES.some((type) => type === line.event_type) ? "font-medium text-error-ink" : "font-medium"
              }
            >
              {t.reminders.events[line.event_type]}
            </span>
            <span className="min-w-0 truncate text-ink-2">
              {line.error_code !== null && faultText(t, line.error_code)}
            </span>
            <span className="ml-auto shrink-0 text-xs text-ink-3" title={format.full(line.created_at)}>
              {format.moment(line.created_at)}
            </span>
          </p>
          {line.message !== null && <p className="text-xs break-words text-ink-3">{line.message}</p>}
          {line.due_at !== null && (
            <p className="text-xs text-ink-3">
              {t.reminders.next} <LocalTime at={line.due_at} zone={zone} />
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}
