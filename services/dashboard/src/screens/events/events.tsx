/** Everything that happens, as it happens; and, further down, what happened before. */
import { useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useApp, useLive, useSignedIn } from "@/app/context";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { usePast } from "@/app/past";
import { useChange } from "@/app/use-change";
import { useDetachedUntil } from "@/app/use-detached";
import { useActors } from "@/farm/actors";
import { useNames } from "@/farm/names";
import { shortId } from "@/farm/short-id";
import { useText } from "@/lib/i18n/i18n";
import { useEscape, useKeys } from "@/lib/keys/use-keys";
import { EventFeed } from "@/lib/live/event-feed";
import type { Tail } from "@/lib/live/tail";
import { SavedSearches } from "@/lib/preferences/saved-searches";
import { useObservable } from "@/lib/react/use-observable";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { SelectField } from "@/ui/field";
import { Icon } from "@/ui/icon";
import { Page } from "@/ui/page";
import { SearchBox } from "@/ui/search-box";
import { Empty, Loading } from "@/ui/states";
import { aboutText, isOfKind, mentions, toneOf } from "./about";
import { EventPanel } from "./event-panel";
import { exportQuery, useOlder } from "./older";
import { isWithin, spanOf } from "./range";
import { RangeField } from "./range-field";
import { fromHeard, fromRow, type ShownEvent } from "./rows";
import { Saved } from "./saved";
import { type EventsSearch, KINDS } from "./search";
import { useEventsText } from "./words";

/** So often the list moves. Faster, nobody could read it. */
const MOVE_EVERY_MS = 1_000;
const ROW_HEIGHT = 32;
const SHOWN_MIN = 30;
const PAGES_UNASKED = 5;

/** Events are heard while they are looked at. Nothing happens in the past. */
function useFeed(): EventFeed {
  const { client } = useApp();
  const { frames } = useLive();
  const isPast = usePast() !== null;
  const [feed, setFeed] = useState(() => new EventFeed(client, frames));
  useEffect(() => {
    const begun = new EventFeed(client, frames);
    setFeed(begun);
    if (!isPast) begun.start();
    return () => begun.stop();
  }, [client, frames, isPast]);
  return feed;
}

/** What is shown; stands still while it is held. `isMeant`: what the list below shows, so that news are news to it. */
function useHeard(tail: Tail, isHeld: boolean, isMeant: (event: ShownEvent) => boolean) {
  const now = useNow(MOVE_EVERY_MS);
  const [kept, setKept] = useState<readonly ShownEvent[]>([]);
  const count = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at with every beat
  useEffect(() => {
    if (isHeld) return;
    count.current = tail.heard;
    setKept(tail.events.map(fromHeard).reverse());
  }, [isHeld, now, tail]);
  return { events: kept, news: isHeld ? tail.since(count.current).map(fromHeard).filter(isMeant).length : 0 };
}

export function Events(): ReactNode {
  const t = useEventsText();
  const search = useSearch({ from: "/inside/events" });
  const names = useNames();
  const nameOf = useActors();
  const [isHeld, setIsHeld] = useState(false);
  const feed = useFeed();
  const begin = useObservable(feed.begin);
  usePageTitle(t.events.title);
  const change = useChange<EventsSearch>("/events");

  const kind = search.kind ?? "all";
  const past = usePast();
  const { last, from, to, type, entity } = search;
  // "The last hour" begins an hour before it was chosen, and goes on with what happens.
  const span = useMemo(() => spanOf({ last, from, to }, past?.at ?? Date.now()), [last, from, to, past]);
  const wish = useMemo(() => ({ kind, entity, type, ...span }), [kind, entity, type, span]);
  const older = useOlder(wish, past === null ? begin : { at: past.at });
  const { user } = useSignedIn();
  const saved = useMemo(() => new SavedSearches("events", user.id), [user.id]);
  const [isSaving, setIsSaving] = useState(false);
  const text = useDeferredValue(search.q ?? "")
    .trim()
    .toLowerCase();
  const isMeant = useCallback(
    (event: ShownEvent) =>
      isOfKind(event, kind) &&
      (type === undefined || event.type === type) &&
      isWithin(span, event.at) &&
      (search.entity === undefined || mentions(event.data, search.entity)) &&
      (text === "" ||
        `${event.type} ${event.by} ${nameOf(event.by)} ${aboutText(t, names, event.data)}`
          .toLowerCase()
          .includes(text)),
    [kind, type, span, search.entity, text, t, names, nameOf],
  );
  const { events, news } = useHeard(feed.tail, isHeld, isMeant);
  const shown = useMemo(() => {
    const known = new Set(events.map((event) => event.place));
    const read = older.data?.pages.flatMap((page) => page.events.map(fromRow)) ?? [];
    return [...events, ...read.filter((event) => !known.has(event.place))].filter(isMeant);
  }, [events, older.data, isMeant]);

  // What is looked for may be rare: a few pages are gone through before anybody has to ask.
  const { hasNextPage, isFetching, fetchNextPage, data } = older;
  useEffect(() => {
    const isShort = shown.length < SHOWN_MIN && (data?.pages.length ?? 0) < PAGES_UNASKED;
    if (isShort && hasNextPage && !isFetching) void fetchNextPage();
  }, [shown.length, data, hasNextPage, isFetching, fetchNextPage]);

  const open = (event: string) => {
    setIsHeld(true);
    change({ event });
  };
  const step = (by: number) => {
    const at = shown.findIndex((event) => event.place === search.event);
    const next = shown[at === -1 ? 0 : Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) open(next.place);
  };
  useKeys({
    h: () => setIsHeld((before) => !before),
    j: () => step(1),
    k: () => step(-1),
  });
  useEscape(() => change({ event: undefined }));

  return (
    <Page
      title={t.events.title}
      count={
        <span aria-live="off">
          {past !== null ? t.past.short : span.to !== null ? "" : isHeld ? t.events.held(news) : t.live.live}
        </span>
      }
      panel={
        search.event !== undefined && (
          <EventPanel
            key={search.event}
            place={search.event}
            known={shown.find((event) => event.place === search.event)}
            showEntity={(entity) => change({ entity, event: undefined })}
            open={open}
            close={() => change({ event: undefined })}
          />
        )
      }
      tools={
        <>
          <Button icon={isHeld ? "play" : "pause"} aria-pressed={isHeld} onClick={() => setIsHeld(!isHeld)}>
            {isHeld ? t.events.resume : t.events.pause}
          </Button>
          <SelectField
            isLabelHidden
            className="w-40"
            label={t.events.types}
            value={kind}
            choices={KINDS.map((value) => ({ value, label: t.events.kinds[value] }))}
            onChange={(value) => change({ kind: value === "all" ? undefined : value })}
          />
          <RangeField search={search} change={change} />
          <SearchBox
            value={search.q ?? ""}
            hint={t.events.searchHint}
            onChange={(q) => change({ q: q || undefined })}
          />
          <Button icon="search" onClick={() => setIsSaving(true)}>
            {t.searches.saved}
          </Button>
          <ExportButton
            of={t.events.title}
            what={() =>
              // Only this page knows the names that its search box looks for, so it exports what it has found.
              text === "" ? { relation: "events", query: exportQuery(wish) } : { name: "events", rows: shown }
            }
          />
        </>
      }
    >
      {isSaving && <Saved saved={saved} search={search} close={() => setIsSaving(false)} />}
      {type !== undefined && <Narrowed name={t.searches.type} said={type} clear={() => change({ type: undefined })} />}
      {search.entity !== undefined && (
        <Narrowed
          name={t.events.about}
          said={entityName(names, search.entity)}
          title={search.entity}
          clear={() => change({ entity: undefined })}
        />
      )}
      <List
        events={shown}
        current={search.event}
        open={open}
        footer={
          <Older
            isNarrow={
              text !== "" ||
              kind !== "all" ||
              search.entity !== undefined ||
              type !== undefined ||
              span.from !== null ||
              span.to !== null
            }
            isEmpty={shown.length === 0}
            isBusy={older.isFetching}
            isOver={older.data !== undefined && !older.hasNextPage}
            lookedBackTo={older.data?.pages.at(-1)?.next?.until ?? null}
            look={() => void older.fetchNextPage()}
          />
        }
      />
    </Page>
  );
}

/** What the list is narrowed to, and the way out of it. */
function Narrowed(props: { name: string; said: string; title?: string; clear: () => void }): ReactNode {
  const t = useText();
  return (
    <div className="flex items-center gap-2 border-b border-line px-6 py-2 text-sm max-sm:px-4">
      <span className="text-ink-3">{props.name}</span>
      <button
        type="button"
        className="flex items-center gap-1.5 rounded-full bg-accent-soft px-2.5 py-0.5 pointer-coarse:py-1.5"
        aria-label={`${t.common.clear}: ${props.title ?? props.said}`}
        onClick={props.clear}
      >
        {props.said} <Icon name="close" className="size-3" />
      </button>
    </div>
  );
}

function entityName(names: ReturnType<typeof useNames>, id: string): string {
  const device = names.device(id);
  return device !== shortId(id) ? device : names.job(id);
}

const TONES = { plain: "", good: "text-online-ink", bad: "text-error-ink", warn: "text-held-ink" };

function List(props: {
  events: readonly ShownEvent[];
  current: string | undefined;
  open: (place: string) => void;
  footer: ReactNode;
}): ReactNode {
  const t = useText();
  const format = useFormat();
  const names = useNames();
  const nameOf = useActors();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: props.events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto bg-surface">
      <table aria-label={t.events.title} className="w-full table-fixed border-collapse text-sm">
        <thead className="sticky top-0 z-10 bg-surface text-left text-xs text-ink-3 shadow-[0_1px_0_var(--line)]">
          <tr>
            <th scope="col" className="w-28 py-2 pl-6 font-medium max-sm:w-20 max-sm:pl-4">
              {t.events.time}
            </th>
            <th scope="col" className="w-52 px-3 font-medium max-sm:w-44">
              {t.events.type}
            </th>
            <th scope="col" className="px-3 font-medium max-sm:pr-4">
              {t.events.about}
            </th>
            <th scope="col" className="w-44 px-3 pr-6 font-medium max-md:hidden">
              {t.events.by}
            </th>
          </tr>
        </thead>
        <tbody>
          <Gap height={virtual.getVirtualItems()[0]?.start ?? 0} />
          {virtual.getVirtualItems().map((item) => {
            const event = props.events[item.index];
            if (event === undefined) return null;
            return (
              <tr
                key={event.place}
                aria-current={event.place === props.current ? "true" : undefined}
                className="cursor-pointer border-b border-line hover:bg-hover aria-[current=true]:bg-accent-soft"
                style={{ height: ROW_HEIGHT }}
                onClick={() => props.open(event.place)}
              >
                <td className="pl-6 text-ink-3 max-sm:pl-4" title={format.full(event.at)}>
                  {format.clock(event.at)}
                </td>
                <td className="truncate px-3">
                  <button
                    type="button"
                    className={`max-w-full truncate rounded text-left font-medium ${TONES[toneOf(event.type)]}`}
                  >
                    {event.type}
                  </button>
                </td>
                <td className="truncate px-3 text-ink-2 max-sm:pr-4">{aboutText(t, names, event.data)}</td>
                <td className="truncate px-3 pr-6 text-ink-3 max-md:hidden" title={event.by}>
                  {nameOf(event.by)}
                </td>
              </tr>
            );
          })}
          <Gap height={virtual.getTotalSize() - (virtual.getVirtualItems().at(-1)?.end ?? 0)} />
        </tbody>
      </table>
      {props.footer}
    </div>
  );
}

/** Rows that are out of sight. */
function Gap({ height }: { height: number }): ReactNode {
  return height <= 0 ? null : (
    <tr>
      <td style={{ height }} />
    </tr>
  );
}

function Older(props: {
  isNarrow: boolean;
  isEmpty: boolean;
  isBusy: boolean;
  isOver: boolean;
  lookedBackTo: number | null;
  look: () => void;
}): ReactNode {
  const t = useText();
  const format = useFormat();
  const until = useDetachedUntil();
  const isDetached = until !== null && (props.isOver || (props.lookedBackTo !== null && props.lookedBackTo <= until));
  const detached = isDetached ? t.events.detached(format.full(until)) : null;
  const button = (
    <Button disabled={props.isBusy} onClick={props.look}>
      {props.isBusy ? t.events.looking : t.events.older}
    </Button>
  );
  if (props.isEmpty && props.isBusy) return <Loading text={t.events.looking} />;
  if (props.isEmpty) {
    return (
      <Empty
        icon="events"
        title={props.isNarrow ? t.events.noMatch : t.events.empty}
        hint={detached ?? (props.isNarrow ? t.events.noMatchHint : t.events.emptyHint)}
        action={props.isOver ? undefined : button}
      />
    );
  }
  return (
    <div className="flex flex-col items-center gap-2 py-4 text-sm text-ink-3">
      {detached}
      {!props.isOver ? button : detached === null && t.events.end}
    </div>
  );
}
