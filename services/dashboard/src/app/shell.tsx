/** The frame around every screen: menu, who is signed in, whether the page is live. */
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useKeys } from "@/lib/keys/use-keys";
import { useTableSize } from "@/lib/live/hooks";
import { toggleTheme } from "@/lib/preferences/theme";
import { Icon } from "@/ui/icon";
import { IS_MAC, Kbd } from "@/ui/kbd";
import { Logo } from "@/ui/logo";
import { SEARCH_BOX } from "@/ui/search-box";
import { useLive } from "./context";
import { DialogHost } from "./dialog-host";
import { LiveBanner, LiveDot } from "./live-banner";
import { MachineButton, OfThatTime, useMachine } from "./machine";
import { PLACES, type Place } from "./places";
import { UserButton } from "./user-button";

// Loaded when they are first opened, and while nothing else is to be done.
const Palette = lazy(() => import("./palette").then((module) => ({ default: module.Palette })));
const ShortcutHelp = lazy(() => import("./shortcut-help").then((module) => ({ default: module.ShortcutHelp })));
const SessionsDialog = lazy(() => import("./sessions-dialog").then((module) => ({ default: module.SessionsDialog })));
const TimeMachine = lazy(() =>
  import("@/screens/time-machine/time-machine").then((module) => ({ default: module.TimeMachine })),
);
const loadUserMenu = () => import("./user-menu").then((module) => ({ default: module.UserMenu }));
const UserMenu = lazy(loadUserMenu);

export function Shell(): ReactNode {
  const t = useText();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const [areSessionsOpen, setAreSessionsOpen] = useState(false);
  const machine = useMachine();
  useKeys({
    ...Object.fromEntries(PLACES.map((place) => [place.key, () => void navigate({ to: place.path })])),
    "mod+k": () => setIsPaletteOpen(true),
    "?": () => setIsHelpOpen(true),
    "/": focusSearch,
    t: toggleTheme,
    "g t": machine.toggle,
  });
  return (
    <div className="flex h-full max-sm:flex-col max-sm:pb-[calc(3.25rem+env(safe-area-inset-bottom))]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded focus:bg-surface focus:p-2"
      >
        {t.places.skipToContent}
      </a>
      {/* On a phone it lies across the top, and the menu across the bottom, where a thumb is. */}
      <header className="flex w-52 shrink-0 flex-col border-r border-line bg-surface max-lg:w-14 max-sm:h-12 max-sm:w-full max-sm:flex-row max-sm:items-center max-sm:border-r-0 max-sm:border-b max-sm:px-1 sm:overflow-x-hidden sm:overflow-y-auto">
        <Link
          to="/"
          className="flex h-14 shrink-0 items-center gap-2.5 px-4 font-semibold max-lg:justify-center max-lg:px-0 max-sm:h-10 max-sm:w-10"
        >
          <Logo className="size-6" />
          <span className="max-lg:sr-only">Drover</span>
        </Link>
        <button
          type="button"
          className="mx-3 mb-3 flex h-8 shrink-0 items-center gap-2 rounded-md border border-line-strong bg-canvas px-2.5 text-sm text-ink-3 hover:text-ink max-sm:mx-1 max-sm:mb-0 max-sm:h-10 max-sm:flex-1 sm:max-lg:justify-center sm:max-lg:px-0"
          onClick={() => setIsPaletteOpen(true)}
        >
          <Icon name="search" />
          <span className="flex-1 truncate text-left sm:max-lg:sr-only">{t.palette.open}</span>
          <span className="max-lg:hidden">
            <Kbd>{IS_MAC ? "⌘K" : "Ctrl K"}</Kbd>
          </span>
        </button>
        <nav
          aria-label={t.places.navigation}
          className="flex flex-col gap-0.5 px-3 max-sm:fixed max-sm:inset-x-0 max-sm:bottom-0 max-sm:z-20 max-sm:flex-row max-sm:gap-0 max-sm:border-t max-sm:border-line max-sm:bg-surface max-sm:px-1 max-sm:py-1 max-sm:pb-[calc(0.25rem+env(safe-area-inset-bottom))]"
        >
          {PLACES.map((place) => (
            <MenuLink key={place.path} place={place} />
          ))}
        </nav>
        <div className="mt-auto flex flex-col gap-1 border-t border-line p-3 max-sm:mt-0 max-sm:flex-row max-sm:items-center max-sm:border-t-0 max-sm:p-0">
          <MachineButton {...machine} />
          <LiveDot />
          <UserCorner showHelp={() => setIsHelpOpen(true)} showSessions={() => setAreSessionsOpen(true)} />
        </div>
      </header>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <LiveBanner />
        <Suspense>{machine.isOpen && <TimeMachine close={machine.toggle} />}</Suspense>
        <main id="content" tabIndex={-1} className="min-h-0 flex-1 outline-none">
          <DialogHost place={pathname}>
            <OfThatTime>
              <Outlet />
            </OfThatTime>
          </DialogHost>
        </main>
      </div>
      <Suspense>
        {isPaletteOpen && (
          <Palette
            close={() => setIsPaletteOpen(false)}
            showHelp={() => setIsHelpOpen(true)}
            showPast={machine.toggle}
          />
        )}
        {isHelpOpen && <ShortcutHelp close={() => setIsHelpOpen(false)} />}
        {areSessionsOpen && <SessionsDialog close={() => setAreSessionsOpen(false)} />}
      </Suspense>
    </div>
  );
}

/** Screens that are not in the menu, and the one that leads there. */
const WITHOUT_MENU: Readonly<Record<string, Place["name"]>> = { "/keys": "system", "/audit": "system" };

function MenuLink({ place }: { place: Place }): ReactNode {
  const t = useText();
  const isBelow = WITHOUT_MENU[useLocation().pathname] === place.name;
  return (
    <Link
      to={place.path}
      activeOptions={{ exact: place.path === "/", includeSearch: false }}
      title={t.places[place.name]}
      data-below={isBelow ? "" : undefined}
      className="data-below:bg-accent-soft data-below:font-medium data-below:text-ink flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-ink max-lg:justify-center max-lg:px-0 max-sm:h-11 max-sm:min-w-0 max-sm:flex-1"
    >
      <Icon name={place.icon} />
      <span className="flex-1 max-lg:sr-only">{t.places[place.name]}</span>
      {place.name === "alerts" && <AlertCount />}
    </Link>
  );
}

function AlertCount(): ReactNode {
  const open = useTableSize(useLive().fleet.alerts);
  if (open === 0) return null;
  return (
    <span className="rounded-full bg-error-soft px-1.5 text-xs font-medium text-error-ink max-lg:absolute max-lg:ml-6 max-lg:-mt-4">
      {open}
    </span>
  );
}

function UserCorner(props: { showHelp: () => void; showSessions: () => void }): ReactNode {
  const [isWanted, setIsWanted] = useState(false);
  const button = (
    <UserButton
      onPointerEnter={() => void loadUserMenu()}
      onFocus={() => void loadUserMenu()}
      onClick={() => setIsWanted(true)}
    />
  );
  return isWanted ? (
    <Suspense fallback={button}>
      <UserMenu {...props} />
    </Suspense>
  ) : (
    button
  );
}

function focusSearch(): void {
  const box = document.querySelector<HTMLInputElement>(`[${SEARCH_BOX}]`);
  box?.focus();
  box?.select();
}
