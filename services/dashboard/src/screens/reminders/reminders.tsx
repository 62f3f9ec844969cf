/** Reminders: what is due and when on its user's clock, what was sent, and what was not. */
import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useReadAfter } from "@/app/use-rows";
import type { Exported } from "@/lib/export/export";
import { useEscape } from "@/lib/keys/use-keys";
import { ALARM_COLUMNS } from "@/lib/rest/reminder-rows";
import { type Sort, sortIn, sortText } from "@/lib/sort/sort";
import { Segmented } from "@/ui/field";
import { Page } from "@/ui/page";
import { SearchBox } from "@/ui/search-box";
import { Empty } from "@/ui/states";
import { AlarmPanel } from "./alarm-panel";
import { History } from "./history";
import { type RemindersSearch, SHOWS, type Show, SORTS } from "./search";
import { alarmsFilter, historyFilter, keyOf, partsOf } from "./standing";
import { Upcoming } from "./upcoming";
import { useRemindersText } from "./words";

/** The words of alarms are not told, so that they are read. */
const KEYS = [["alarms"], ["reminded"]];

/** All alarms or lines that match, in the order that is shown. */
function remindersExport(show: Show, search: RemindersSearch): Exported {
  const sort = sortIn(search.order, SORTS);
  if (show !== "upcoming") {
    const isUp = sort?.by === "created_at" && !sort.isDown;
    const query = { ...historyFilter(show, search.q ?? ""), order: isUp ? "created_at,id" : "created_at.desc" };
    return { relation: "alarms_event", query };
  }
  const isDown = sort?.by === "next_alarm_time" && sort.isDown;
  const order = isDown ? "next_alarm_time.desc,page_id.desc" : "next_alarm_time,page_id";
  return { relation: "alarm", query: { select: ALARM_COLUMNS, ...alarmsFilter(search.q ?? ""), order } };
}

export function Reminders(): ReactNode {
  const t = useRemindersText();
  const search = useSearch({ from: "/inside/reminders" });
  const maySee = useMay("see-alarms");
  usePageTitle(t.reminders.title);
  useReadAfter(["alarm", "alarms_event"], KEYS);
  const change = useChange<RemindersSearch>("/reminders");
  const close = () => change({ page: undefined, user: undefined });
  useEscape(close);
  // Titles are users' own words: who may not read them sees what was sent.
  const show = search.show ?? (maySee ? "upcoming" : "sent");
  const isOpen = search.page !== undefined && search.user !== undefined;
  const current = isOpen ? keyOf({ page_id: search.page ?? "", user_id: search.user ?? "" }) : undefined;
  const open = (key: string) => change(partsOf(key));
  const sorting = {
    sort: sortIn(search.order, SORTS),
    change: (sort: Sort | undefined) => change({ order: sortText(sort) }),
  };
  return (
    <Page
      title={t.reminders.title}
      tools={
        <>
          <Segmented
            label={t.reminders.title}
            value={show}
            choices={SHOWS.map((value) => ({ value, label: t.reminders.shows[value] }))}
            onChange={(value) => change({ show: value })}
          />
          <SearchBox
            value={search.q ?? ""}
            hint={show === "upcoming" ? t.reminders.searchUpcoming : t.reminders.searchHistory}
            onChange={(q) => change({ q: q || undefined })}
          />
          {(maySee || show !== "upcoming") && (
            <ExportButton of={t.reminders.shows[show]} what={() => remindersExport(show, search)} />
          )}
        </>
      }
      panel={isOpen && <AlarmPanel key={current} page={search.page ?? ""} user={search.user ?? ""} close={close} />}
    >
      <div className="page-body">
        <div className="card @container overflow-hidden">
          {show !== "upcoming" ? (
            <History key={show} show={show} q={search.q} current={current} open={open} sorting={sorting} />
          ) : maySee ? (
            <Upcoming q={search.q} current={current} open={open} sorting={sorting} />
          ) : (
            <Empty isSmall icon="person" title={t.reminders.hidden} hint={t.reminders.hiddenHint} />
          )}
        </div>
      </div>
    </Page>
  );
}
