/** Everything by its name: screens, phones, PCs, jobs, renders, users, events, saved searches, and what can be done. */
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import type { Found } from "@/lib/api/schema";
import { LANGUAGE_NAMES, useText } from "@/lib/i18n/i18n";
import { LANGUAGES, preferences, THEMES } from "@/lib/preferences/preferences";
import { SavedSearches } from "@/lib/preferences/saved-searches";
import { useFormat } from "@/lib/time/format";
import { useAnalysesText } from "@/screens/analyses/words";
import { useAuditText } from "@/screens/audit/words";
import { useKeysText } from "@/screens/keys/words";
import { RANGES } from "@/screens/overview/search";
import { useChartText } from "@/ui/chart-text";
import { Dialog } from "@/ui/dialog";
import { Icon, type IconName } from "@/ui/icon";
import { useApp, useLive, useMay, useSignedIn } from "./context";
import { type Found as FoundHere, find } from "./palette-find";
import { serverGroups, useFind } from "./palette-server";
import { usePaletteText } from "./palette-text";
import { PLACES } from "./places";
import { parseSearch } from "./search-params";

export interface Entry {
  readonly id: string;
  readonly icon: IconName;
  readonly label: string;
  readonly detail?: string;
  readonly run: () => void;
}

export function Palette(props: { close: () => void; showHelp: () => void; showPast: () => void }): ReactNode {
  const t = useText();
  return (
    <Dialog close={props.close} title={t.palette.title} width="w-xl">
      <Search {...props} />
    </Dialog>
  );
}

function Search(props: { close: () => void; showHelp: () => void; showPast: () => void }): ReactNode {
  const { close, showHelp, showPast } = props;
  const t = usePaletteText();
  const [text, setText] = useState("");
  // By its id: what the server finds comes while somebody chooses, and moves the others. Null: the first.
  const [chosen, setChosen] = useState<string | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const found = useFind(text);
  const groups = useEntries(text, found.data, showHelp, showPast);
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.max(
    0,
    entries.findIndex((entry) => entry.id === chosen),
  );
  const current = entries[at];

  useEffect(() => {
    if (current !== undefined) document.getElementById(placeOf(id, current))?.scrollIntoView({ block: "nearest" });
  }, [current, id]);

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen(entries[(at + step + entries.length) % Math.max(1, entries.length)]?.id ?? null);
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing && current !== undefined) {
      event.preventDefault();
      choose(current);
    }
  }

  function choose(entry: Entry): void {
    close();
    entry.run();
  }

  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: it was opened to be written in
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={current === undefined ? undefined : placeOf(id, current)}
        aria-label={t.palette.title}
        placeholder={t.palette.placeholder}
        value={text}
        spellCheck={false}
        className="mb-2 h-9 w-full pointer-coarse:h-10 rounded-md border border-line-strong bg-canvas px-3"
        onChange={(event) => {
          setText(event.target.value);
          setChosen(null);
        }}
        onKeyDown={onKeyDown}
      />
      <div
        ref={list}
        id={id}
        role="listbox"
        aria-label={t.palette.title}
        className="-mx-2 h-80 overflow-y-auto max-sm:h-[60dvh]"
      >
        {entries.length === 0 && (
          <p className="px-2 py-6 text-center text-sm text-ink-3">
            {found.isFetching ? t.find.searching : t.palette.empty}
          </p>
        )}
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: options of a listbox are grouped so
          <div key={group.title} role="group" aria-label={group.title}>
            <p className="caption px-2 pt-2 pb-1">{group.title}</p>
            {group.entries.map((entry) => (
              <Option
                key={entry.id}
                id={placeOf(id, entry)}
                entry={entry}
                isChosen={entry === current}
                choose={() => choose(entry)}
                point={() => setChosen(entry.id)}
              />
            ))}
          </div>
        ))}
      </div>
      {/* Says how many there are, and that the server does not answer: the list itself is not read out as it changes. */}
      <p role="status" className={found.isError ? "mt-2 text-xs text-held-ink" : "sr-only"}>
        {found.isError ? t.find.unreachable : found.isFetching ? t.find.searching : `${entries.length}`}
      </p>
    </>
  );
}

/** Ids of elements have no spaces, names of searches do. */
function placeOf(list: string, entry: Entry): string {
  return `${list}-${encodeURIComponent(entry.id)}`;
}

function Option(props: {
  id: string;
  entry: Entry;
  isChosen: boolean;
  choose: () => void;
  point: () => void;
}): ReactNode {
  const { entry } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the box's, which points here
    // biome-ignore lint/a11y/useFocusableInteractive: the box keeps the focus and points here
    <div
      id={props.id}
      role="option"
      aria-selected={props.isChosen}
      className="flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2 text-sm aria-selected:bg-hover pointer-coarse:h-10"
      onClick={props.choose}
      onPointerMove={props.isChosen ? undefined : props.point}
    >
      <Icon name={entry.icon} className="text-ink-3" />
      <span className="truncate">{entry.label}</span>
      {entry.detail !== undefined && <span className="ml-auto shrink-0 text-xs text-ink-3">{entry.detail}</span>}
    </div>
  );
}

interface Group {
  readonly title: string;
  readonly entries: readonly Entry[];
}

type Offer = readonly [
  may: boolean,
  id: string,
  icon: IconName,
  label: string,
  run: () => Promise<void>,
  detail?: string,
];

/** What the person may do, of all that can be done. */
function offered(offers: readonly Offer[]): Entry[] {
  return offers
    .filter(([may]) => may)
    .map(([, id, icon, label, run, detail]) => ({
      id,
      icon,
      label,
      run: () => void run(),
      ...(detail === undefined ? {} : { detail }),
    }));
}

function useEntries(
  text: string,
  answer: Found | undefined,
  showHelp: () => void,
  showPast: () => void,
): readonly Group[] {
  const t = useAnalysesText();
  const words = usePaletteText();
  const { charts } = useChartText();
  const format = useFormat();
  const { user } = useSignedIn();
  const saved = useMemo(() => new SavedSearches("events", user.id), [user.id]);
  const { keys } = useKeysText();
  const { audit } = useAuditText();
  const navigate = useNavigate();
  const { client } = useApp();
  const { fleet } = useLive();
  const mayCreate = useMay("create-job");
  const mayRender = useMay("create-render");
  const mayMap = useMay("change-mapping");
  const mayClean = useMay("run-cleanup");
  const mayManage = useMay("manage-accounts");
  const mayAudit = useMay("see-audit");
  const mayKeys = useMay("manage-keys");
  return useMemo(() => {
    const matches = (label: string) => label.toLowerCase().includes(text.trim().toLowerCase());
    const screens = PLACES.map(
      (place): Entry => ({
        id: place.name,
        icon: place.icon,
        label: t.places[place.name],
        detail: place.key,
        run: () => void navigate({ to: place.path }),
      }),
    );
    const actions: Entry[] = [
      ...offered([
        [mayCreate, "new", "plus", t.queue.newJob, () => navigate({ to: "/queue", search: { new: true } }), "n"],
        [mayRender, "new-render", "plus", t.newRender.title, () => navigate({ to: "/renders", search: { new: true } })],
        [
          mayMap,
          "mapping",
          "renders",
          `${t.places.renders}: ${t.renders.mapping}`,
          () => navigate({ to: "/renders", search: { view: "mapping" } }),
        ],
        [
          mayClean,
          "clean",
          "analyses",
          `${t.places.analyses}: ${t.analyses.runNow}`,
          () => navigate({ to: "/analyses", search: { clean: true } }),
        ],
        [mayManage, "account", "person", t.system.newAccount, () => navigate({ to: "/system", search: { new: true } })],
        [mayAudit, "audit", "search", audit.open, () => navigate({ to: "/audit" })],
        [mayKeys, "keys", "key", keys.open, () => navigate({ to: "/keys" })],
      ]),
      ...RANGES.map((range) => ({
        id: `charts-${range}`,
        icon: "overview" as const,
        label: words.find.charts(charts.ranges[range]),
        run: () => void navigate({ to: "/", search: { range } }),
      })),
      { id: "past", icon: "past", label: t.past.open, detail: "g t", run: showPast },
      ...THEMES.map((theme) => ({
        id: `theme-${theme}`,
        icon: theme === "dark" ? ("moon" as const) : ("sun" as const),
        label: t.palette.theme(t.theme[theme]),
        run: () => preferences.theme.set(theme),
      })),
      ...LANGUAGES.map((language) => ({
        id: `language-${language}`,
        icon: "globe" as const,
        label: t.palette.language(LANGUAGE_NAMES[language]),
        run: () => preferences.language.set(language),
      })),
      { id: "help", icon: "keyboard", label: t.shortcuts.title, detail: "?", run: showHelp },
      { id: "out", icon: "leave", label: t.session.signOut, run: () => void client.signOut() },
    ];
    const toEntry =
      (kind: "phone" | "pc" | "queue", open: (id: string) => void) =>
      (found: FoundHere): Entry => ({
        id: `${kind}-${found.id}`,
        icon: kind,
        label: found.label,
        detail: found.detail,
        run: () => open(found.id),
      });
    const found = find(fleet, text, t);
    const onServer = serverGroups(
      answer,
      text,
      words,
      (at) => format.ago(at, Date.now()),
      (job) => found.jobs.some((known) => known.id === job),
    ).map(({ title, entries }) => ({
      title,
      entries: entries.map(({ target, ...entry }) => ({ ...entry, run: () => void navigate(target as never) })),
    }));
    const searches = saved.get().map(
      ({ name, query }): Entry => ({
        id: `search-${name}`,
        icon: "search",
        label: name,
        detail: words.places.events,
        run: () => void navigate({ to: "/events", search: parseSearch(query) as never }),
      }),
    );
    const groups: Group[] = [
      { title: t.palette.screens, entries: screens.filter((entry) => matches(entry.label)) },
      {
        title: t.palette.jobs,
        entries: found.jobs.map(toEntry("queue", (job) => void navigate({ to: "/queue", search: { job } }))),
      },
      {
        title: t.palette.phones,
        entries: found.devices.map(toEntry("phone", (device) => void navigate({ to: "/fleet", search: { device } }))),
      },
      {
        title: t.palette.pcs,
        entries: found.pcs.map(toEntry("pc", (pc) => void navigate({ to: "/fleet", search: { q: pc } }))),
      },
      ...onServer,
      { title: words.find.searches, entries: searches.filter((entry) => matches(entry.label)) },
      { title: t.palette.actions, entries: actions.filter((entry) => matches(entry.label)) },
    ];
    return groups.filter((group) => group.entries.length > 0);
  }, [
    text,
    answer,
    words,
    charts,
    format,
    saved,
    t,
    keys,
    audit,
    navigate,
    client,
    fleet,
    mayCreate,
    mayRender,
    mayMap,
    mayClean,
    mayManage,
    mayAudit,
    mayKeys,
    showHelp,
    showPast,
  ]);
}
