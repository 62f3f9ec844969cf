/** Every PC and every phone, as they are now. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useDeferredValue, useMemo, useState } from "react";
import { useLive, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { ExportButton } from "@/app/export-button";
import { usePageTitle } from "@/app/page-title";
import { usePast } from "@/app/past";
import { useChange } from "@/app/use-change";
import { useOperateText } from "@/farm/operate-words";
import type { Exported } from "@/lib/export/export";
import { useText } from "@/lib/i18n/i18n";
import { useEscape } from "@/lib/keys/use-keys";
import { type FleetStore, SHOWN, type Shown, shownAs } from "@/lib/live/fleet";
import { useTable } from "@/lib/live/hooks";
import { DENSITIES, preferences } from "@/lib/preferences/preferences";
import { useObservable } from "@/lib/react/use-observable";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { Segmented, SelectField } from "@/ui/field";
import { Page } from "@/ui/page";
import { SearchBox } from "@/ui/search-box";
import { Empty, Loading } from "@/ui/states";
import { Dot } from "@/ui/status";
import { allOf, extended, type How, NONE, still, toggled } from "./chosen";
import { DevicePanel } from "./device-panel";
import { PcPanel } from "./pc-panel";
import { Racks } from "./racks";
import { RegisterPhones } from "./register";
import { type FleetSearch, SORTS } from "./search";
import { isMeant, select, type Wish } from "./select";
import { SelectionBar } from "./selection-bar";

/** How often racks come and go. Phones within them change at once. */
const SELECT_EVERY_MS = 500;

/** All phones from the server, or those that are shown: only this page knows what it looks for, and the past. */
function fleetExport(fleet: FleetStore, wish: Wish, isPast: boolean): Exported {
  if (!isPast && wish.text === "" && wish.shown.size === 0)
    return { relation: "devices", query: { order: "serial_number" } };
  const meant = [...fleet.devices.values()].filter((device) => isMeant(device, wish));
  return { name: "devices", rows: meant.map((device) => ({ ...device, shown: shownAs(device) })) };
}

export function Fleet(): ReactNode {
  const t = useOperateText();
  const live = useLive();
  const isPast = usePast() !== null;
  const search = useSearch({ from: "/inside/fleet" });
  const density = useObservable(preferences.density);
  const status = useObservable(live.status);
  usePageTitle(t.fleet.title);
  const change = useChange<FleetSearch>("/fleet");
  const close = () => change({ device: undefined, pc: undefined });
  const maySelect = useMay("reset-device");
  const mayRegister = useMay("register-device");
  const show = useDialog();
  const navigate = useNavigate();
  const [chosen, setChosen] = useState(NONE);
  const [isSelecting, setIsSelecting] = useState(false);
  const clear = () => {
    setChosen(NONE);
    setIsSelecting(false);
  };
  const hasSelection = maySelect && (isSelecting || chosen.ids.size > 0);
  useEscape(hasSelection ? clear : close);

  const text = useDeferredValue(search.q ?? "").toLowerCase();
  const wish = useMemo<Wish>(
    () => ({
      text,
      shown: new Set((search.show?.split(",") ?? []) as Shown[]),
      sort: search.sort ?? "name",
    }),
    [text, search.show, search.sort],
  );
  const version = useTable(live.fleet.devices, SELECT_EVERY_MS);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is in the table
  const selection = useMemo(() => select(live.fleet, wish), [live.fleet, wish, version]);
  // Only when it is needed: there may be thousands.
  const order = () =>
    selection.pcs
      .flatMap((pc) => live.fleet.devicesOf(pc))
      .filter((id) => {
        const device = live.fleet.devices.get(id);
        return device !== undefined && isMeant(device, wish);
      });
  const onDevice = (device: string, how: How) => {
    if (how === "open" || !maySelect) change({ device, pc: undefined });
    else setChosen((before) => (how === "range" ? extended(before, device, order()) : toggled(before, device)));
  };
  const known = still(chosen, (id) => live.fleet.devices.get(id) !== undefined);
  const isNarrow = wish.text !== "" || wish.shown.size > 0;
  const isReading = status.phase !== "live" && status.phase !== "lost";

  const panel =
    search.device !== undefined ? (
      <DevicePanel key={search.device} id={search.device} close={close} />
    ) : search.pc !== undefined ? (
      <PcPanel key={search.pc} id={search.pc} close={close} />
    ) : undefined;

  return (
    <Page
      title={t.fleet.title}
      count={
        isReading && live.fleet.devices.size === 0
          ? undefined
          : isNarrow
            ? t.fleet.matching(selection.devices)
            : t.fleet.phones(live.fleet.devices.size)
      }
      panel={panel}
      tools={
        <>
          {maySelect && (
            <Button
              aria-pressed={hasSelection}
              className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
              icon="check"
              onClick={hasSelection ? clear : () => setIsSelecting(true)}
            >
              {t.operate.select}
            </Button>
          )}
          {mayRegister && (
            <Button icon="plus" onClick={() => show((done) => <RegisterPhones close={done} />)}>
              {t.operate.register}
            </Button>
          )}
          <SearchBox value={search.q ?? ""} hint={t.fleet.searchHint} onChange={(q) => change({ q: q || undefined })} />
          <SelectField
            label={t.fleet.sort}
            isLabelHidden
            value={wish.sort}
            onChange={(sort) => change({ sort: sort === "name" ? undefined : sort })}
            choices={SORTS.map((value) => ({
              value,
              label: { name: t.fleet.byName, trouble: t.fleet.byTrouble, load: t.fleet.byLoad }[value],
            }))}
          />
          <Segmented
            label={t.fleet.density}
            value={density}
            choices={DENSITIES.map((value) => ({ value, label: t.fleet[value] }))}
            onChange={(value) => preferences.density.set(value)}
          />
          <ExportButton of={t.fleet.title} what={() => fleetExport(live.fleet, wish, isPast)} />
        </>
      }
    >
      <Legend chosen={wish.shown} onChange={(show) => change({ show: [...show].join(",") || undefined })} />
      {hasSelection && (
        <SelectionBar
          ids={[...known.ids]}
          shown={selection.devices}
          selectShown={() => setChosen(allOf(order()))}
          clear={clear}
          openJob={(job) => void navigate({ to: "/queue", search: { job } })}
        />
      )}
      {selection.pcs.length > 0 ? (
        <Racks
          pcs={selection.pcs}
          wish={wish}
          density={density}
          selected={search.device ?? null}
          chosen={known.ids}
          shownPc={search.pc ?? live.fleet.devices.get(search.device ?? "")?.pc ?? null}
          isSelecting={isSelecting}
          onDevice={onDevice}
          openPc={(pc) => change({ pc, device: undefined })}
        />
      ) : isReading || (!isNarrow && live.fleet.devices.size > 0) ? (
        // Known, but not laid out yet: never "there is none" in between.
        <Loading text={t.live.loading(status.phase === "loading" ? status.devices : live.fleet.devices.size)} />
      ) : isNarrow ? (
        <Empty
          icon="search"
          title={t.fleet.noMatch}
          hint={t.fleet.noMatchHint}
          action={<Button onClick={() => change({ q: undefined, show: undefined })}>{t.fleet.clearFilters}</Button>}
        />
      ) : (
        <Empty icon="phone" title={t.fleet.empty} hint={t.fleet.emptyHint} />
      )}
    </Page>
  );
}

/** The states, how many phones are in each, and a way to see only some. */
function Legend({
  chosen,
  onChange,
}: {
  chosen: ReadonlySet<Shown>;
  onChange: (chosen: Set<Shown>) => void;
}): ReactNode {
  const t = useText();
  const format = useFormat();
  const { fleet } = useLive();
  useTable(fleet.devices, SELECT_EVERY_MS);
  const toggle = (shown: Shown) => onChange(new Set(SHOWN.filter((other) => chosen.has(other) !== (other === shown))));
  return (
    // biome-ignore lint/a11y/useSemanticElements: switches in a row
    <div
      role="group"
      aria-label={t.fleet.legend}
      className="flex shrink-0 flex-wrap gap-1.5 px-6 pt-3 pb-1 max-sm:px-4"
    >
      {SHOWN.map((shown) => (
        <button
          key={shown}
          type="button"
          aria-pressed={chosen.has(shown)}
          className="flex h-7 items-center gap-2 rounded-full border border-line bg-surface px-3 text-sm text-ink-2 hover:border-line-strong aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-ink"
          onClick={() => toggle(shown)}
        >
          <Dot tone={shown} />
          {t.shown[shown]}
          <span className="font-medium text-ink">{format.number(fleet.shown[shown])}</span>
        </button>
      ))}
    </div>
  );
}
