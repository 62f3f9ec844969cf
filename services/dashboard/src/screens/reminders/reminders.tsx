/** Reminders: what is due and when on its user's clock, what was sent, and what was not. */
import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/app/context";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useReadAfter } from "@/app/use-rows";
import { useText } from "@/lib/i18n/i18n";
import { useEscape } from "@/lib/keys/use-keys";
import { Segmented } from "@/ui/field";
import { Page } from "@/ui/page";
import { SearchBox } from "@/ui/search-box";
import { Empty } from "@/ui/states";
import { AlarmPanel } from "./alarm-panel";
import { History } from "./history";
import { type RemindersSearch, SHOWS } from "./search";
import { keyOf, partsOf } from "./standing";
import { Upcoming } from "./upcoming";

/** The words of alarms are not told, so that they are read. */
const KEYS = [["alarms"], ["reminded"]];

export function Reminders(): ReactNode {
  const t = useText();
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
        </>
      }
      panel={isOpen && <AlarmPanel key={current} page={search.page ?? ""} user={search.user ?? ""} close={close} />}
    >
      <div className="page-body">
        <div className="card @container overflow-hidden">
          {show !== "upcoming" ? (
            <History key={show} show={show} q={search.q} current={current} open={open} />
          ) : maySee ? (
            <Upcoming q={search.q} current={current} open={open} />
          ) : (
            <Empty isSmall icon="person" title={t.reminders.hidden} hint={t.reminders.hiddenHint} />
          )}
        </div>
      </div>
    </Page>
  );
}
