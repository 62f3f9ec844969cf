/** Alarms in the order in which they are due, each on the clock of its user. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useDeferredValue } from "react";
import { useApp } from "@/app/context";
import { reminderRows } from "@/lib/rest/reminder-reads";
import { ALARM_COLUMNS, type AlarmRow } from "@/lib/rest/reminder-rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { type Column, DataTable, RowButton, type Sorting } from "@/ui/data-table";
import { NextPage } from "@/ui/more";
import { Empty, Unread } from "@/ui/states";
import { Badge, type Tone } from "@/ui/status";
import { LocalTime } from "./local-time";
import { alarmsFilter, keyOf, nextAt, type Standing, standingOf } from "./standing";
import { useRemindersText } from "./words";

const PAGE = 100;

const TONES: Record<Standing, Tone> = { waiting: "offline", due: "busy", sending: "busy", retrying: "held" };

export function StandingBadge({ standing }: { standing: Standing }): ReactNode {
  const t = useRemindersText();
  return <Badge tone={TONES[standing]}>{t.reminders.standings[standing]}</Badge>;
}

type Shown = AlarmRow & { readonly id: string };

export function Upcoming({
  q,
  current,
  open,
  sorting,
}: {
  q: string | undefined;
  current: string | undefined;
  open: (key: string) => void;
  sorting: Sorting;
}): ReactNode {
  const t = useRemindersText();
  const format = useFormat();
  const now = useNow(1_000);
  const { client } = useApp();
  const isDown = sorting.sort?.by === "next_alarm_time" && sorting.sort.isDown;
  const filter = alarmsFilter(useDeferredValue(q ?? ""));
  const answer = useInfiniteQuery({
    queryKey: ["alarms", filter, isDown],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      reminderRows<AlarmRow>(client, "alarm", {
        select: ALARM_COLUMNS,
        ...filter,
        order: isDown ? "next_alarm_time.desc,page_id.desc" : "next_alarm_time,page_id",
        limit: PAGE,
        offset: pageParam,
      }),
    getNextPageParam: (page, all) => (page.length < PAGE ? undefined : all.length * PAGE),
    placeholderData: (before) => before,
  });
  const { data } = answer;
  if (data === undefined) return <Unread of={answer} />;
  const alarms = data.pages.flat().map((alarm): Shown => ({ ...alarm, id: keyOf(alarm) }));
  if (alarms.length === 0) {
    return q === undefined ? (
      <Empty isSmall title={t.reminders.none} hint={t.reminders.noneHint} />
    ) : (
      <Empty isSmall title={t.reminders.noMatch} />
    );
  }
  const columns: Column<Shown>[] = [
    {
      id: "when",
      header: t.reminders.onTheirClock,
      sort: { by: "next_alarm_time" },
      className: "w-56",
      cell: (alarm) => (
        <RowButton onClick={() => open(alarm.id)}>
          <LocalTime at={alarm.next_alarm_time} zone={alarm.user_info?.timezone} />
        </RowButton>
      ),
    },
    {
      id: "in",
      header: t.reminders.left,
      className: "w-32 text-ink-2",
      cell: (alarm) => {
        const left = Date.parse(alarm.next_alarm_time) - now;
        return left > 0 ? format.duration(left) : format.ago(alarm.next_alarm_time, now);
      },
    },
    { id: "title", header: t.reminders.reminder, cell: (alarm) => <span title={alarm.body}>{alarm.title}</span> },
    {
      id: "user",
      header: t.reminders.user,
      className: "w-[16%] text-ink-2 @max-3xl:hidden",
      cell: (alarm) => alarm.user_id,
    },
    {
      id: "zone",
      header: t.reminders.zone,
      className: "w-36 text-ink-3 @max-4xl:hidden",
      cell: (alarm) => alarm.user_info?.timezone ?? "–",
    },
    {
      id: "count",
      header: t.reminders.sending,
      className: "w-20 text-right text-ink-2 @max-3xl:hidden",
      cell: (alarm) => format.number(alarm.sent_count),
    },
    {
      id: "standing",
      header: t.reminders.state,
      className: "w-52 @max-3xl:w-36",
      cell: (alarm) => (
        <span className="flex items-center gap-2">
          <StandingBadge standing={standingOf(alarm, now)} />
          <span className="truncate text-xs text-ink-3" title={alarm.last_error ?? undefined}>
            {standingOf(alarm, now) === "retrying" && format.clock(nextAt(alarm))} {alarm.last_error}
          </span>
        </span>
      ),
    },
  ];
  return (
    <>
      <DataTable
        label={t.reminders.shows.upcoming}
        columns={columns}
        rows={alarms}
        current={current}
        open={open}
        sorting={sorting}
      />
      <NextPage of={answer} />
    </>
  );
}
