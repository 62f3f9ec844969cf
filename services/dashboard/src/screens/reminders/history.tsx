/** Sendings that were made, and those that were not, newest first. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useDeferredValue, useMemo } from "react";
import { useApp, useMay } from "@/app/context";
import { asRead, useLivePages } from "@/app/use-rows";
import { oneOfQuoted } from "@/lib/rest/quoted";
import { reminderRows } from "@/lib/rest/reminder-reads";
import type { AlarmEventRow, AlarmRow, UserInfoRow } from "@/lib/rest/reminder-rows";
import { Ago } from "@/lib/time/ago";
import { useFormat } from "@/lib/time/format";
import { type Column, DataTable, RowButton, type Sorting } from "@/ui/data-table";
import { NextPage } from "@/ui/more";
import { Empty, Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { LocalTime } from "./local-time";
import { historyFilter, historyList, keyOf } from "./standing";
import { type RemindersText, useRemindersText } from "./words";

/** Ids in one question, so that its address stays short. */
const ASKED_MAX = 100;
const NONE: readonly AlarmEventRow[] = [];
const OLDEST_FIRST = { by: "created_at", isDown: false, isNullable: false };

export function History({
  show,
  q,
  current,
  open,
  sorting,
}: {
  show: "sent" | "failed";
  sorting: Sorting;
  q: string | undefined;
  current: string | undefined;
  open: (key: string) => void;
}): ReactNode {
  const t = useRemindersText();
  const format = useFormat();
  const isUp = sorting.sort?.by === "created_at" && !sorting.sort.isDown;
  const sort = useMemo(() => (isUp ? OLDEST_FIRST : undefined), [isUp]);
  const filter = historyFilter(show, useDeferredValue(q ?? ""));
  const { answer, found } = useLivePages<AlarmEventRow, AlarmEventRow>("alarms_event", {
    queryKey: ["alarm-history", filter],
    query: filter,
    list: useMemo(() => historyList(show, q ?? ""), [show, q]),
    shownAs: asRead,
    sort,
  });
  const { titleOf, zoneOf } = useNames(found ?? NONE);
  if (found === undefined) return <Unread of={answer} />;
  if (found.length === 0) {
    return <Empty isSmall title={q === undefined ? t.reminders.noneYet[show] : t.reminders.noMatch} />;
  }
  type Shown = Omit<AlarmEventRow, "id"> & { readonly id: string };
  const lines = found.map((line): Shown => ({ ...line, id: String(line.id) }));
  const openLine = (id: string) => {
    const line = lines.find((one) => one.id === id);
    if (line !== undefined) open(keyOf(line));
  };
  const columns: Column<Shown>[] = [
    {
      id: "when",
      header: t.reminders.onTheirClock,
      sort: { by: "created_at", isDownFirst: true },
      className: "w-56",
      cell: (line) => (
        <RowButton onClick={() => openLine(line.id)}>
          <LocalTime at={line.created_at} zone={zoneOf(line.user_id)} />
        </RowButton>
      ),
    },
    {
      id: "ago",
      header: t.reminders.ago,
      className: "w-28 text-ink-3 @max-3xl:hidden",
      cell: (line) => <Ago at={line.created_at} />,
    },
    { id: "title", header: t.reminders.reminder, cell: (line) => titleOf(line) },
    {
      id: "user",
      header: t.reminders.user,
      className: "w-[16%] text-ink-2 @max-3xl:hidden",
      cell: (line) => line.user_id,
    },
    {
      id: "count",
      header: t.reminders.sending,
      className: "w-20 text-right text-ink-2 @max-3xl:hidden",
      cell: (line) => (line.sent_count === null ? "–" : format.number(line.sent_count)),
    },
    show === "sent"
      ? {
          id: "notification",
          header: t.reminders.notification,
          className: "w-[20%] font-mono text-xs text-ink-3 @max-3xl:hidden",
          cell: (line) => line.notification_id ?? "–",
        }
      : {
          id: "fault",
          header: t.reminders.fault,
          className: "w-[30%]",
          cell: (line) => (
            <span className="flex items-center gap-2" title={line.message ?? undefined}>
              <Badge tone={line.event_type === "FAILED" ? "error" : "held"}>
                {t.reminders.events[line.event_type]}
              </Badge>
              <span className="truncate text-ink-2">
                {line.error_code !== null && faultText(t, line.error_code)}
                {line.message !== null && ` · ${line.message}`}
              </span>
            </span>
          ),
        },
  ];
  return (
    <>
      <DataTable
        label={t.reminders.shows[show]}
        columns={columns}
        rows={lines}
        current={lines.find((line) => keyOf(line) === current)?.id}
        open={openLine}
        sorting={sorting}
      />
      <NextPage of={answer} />
    </>
  );
}

export function faultText(t: RemindersText, code: string): string {
  const { faults } = t.reminders;
  return faults[code] ?? code;
}

/** Titles and zones, which the history does not have: asked for once, for those whom it names. */
function useNames(lines: readonly AlarmEventRow[]) {
  const { client } = useApp();
  const maySee = useMay("see-alarms");
  const users = [...new Set(lines.map((line) => line.user_id))].sort().slice(0, ASKED_MAX);
  const pages = [...new Set(lines.map((line) => line.page_id))].sort().slice(0, ASKED_MAX);
  const zones = useQuery({
    queryKey: ["zones", users],
    queryFn: () => reminderRows<UserInfoRow>(client, "user_info", { user_id: oneOfQuoted(users) }),
    enabled: users.length > 0,
    placeholderData: (before) => before,
  });
  const titles = useQuery({
    queryKey: ["alarm-titles", pages],
    queryFn: () =>
      reminderRows<Pick<AlarmRow, "page_id" | "user_id" | "title">>(client, "alarm", {
        select: "page_id,user_id,title",
        page_id: oneOfQuoted(pages),
        limit: 1000,
      }),
    enabled: maySee && pages.length > 0,
    placeholderData: (before) => before,
  });
  const zoneByUser = new Map(zones.data?.map((row) => [row.user_id, row.timezone]));
  const titleByKey = new Map(titles.data?.map((row) => [keyOf(row), row.title]));
  return {
    zoneOf: (user: string) => zoneByUser.get(user),
    titleOf: (line: { readonly page_id: string; readonly user_id: string }) =>
      titleByKey.get(keyOf(line)) ?? line.page_id,
  };
}
