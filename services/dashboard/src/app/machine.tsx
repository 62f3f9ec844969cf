/** The way into the time machine, and what stands where a screen cannot show the past. */
import { Link, useLocation } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useText } from "@/lib/i18n/i18n";
import { buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { Page } from "@/ui/page";
import { Empty } from "@/ui/states";
import { usePast } from "./past";
import { PLACES } from "./places";
import { useTravel } from "./use-travel";

/** Screens that are folded from events of the fleet and the render queue. The others read tables of the present. */
const OF_THE_PAST = ["/", "/fleet", "/queue", "/renders", "/events", "/alerts"];

export interface Machine {
  readonly isOpen: boolean;
  /** Closing it leads back to now. */
  readonly toggle: () => void;
}

export function useMachine(): Machine {
  const past = usePast();
  const travel = useTravel();
  const [isWanted, setIsWanted] = useState(false);
  // Who comes by an address that names a moment has not opened it, and needs it all the same.
  const isOpen = isWanted || past !== null;
  const toggle = () => {
    if (past !== null) travel(undefined);
    setIsWanted(!isOpen);
  };
  return { isOpen, toggle };
}

export function MachineButton({ isOpen, toggle }: Machine): ReactNode {
  const t = useText();
  return (
    <button
      type="button"
      aria-pressed={isOpen}
      title={t.past.open}
      className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm text-ink-2 hover:bg-hover hover:text-ink aria-pressed:bg-held-soft aria-pressed:text-held-ink max-lg:justify-center max-lg:px-0 max-sm:size-10"
      onClick={toggle}
    >
      <Icon name="past" />
      <span className="min-w-0 flex-1 truncate text-left max-lg:sr-only">{t.past.name}</span>
    </button>
  );
}

/** The screen, unless it knows the present only. */
export function OfThatTime({ children }: { children: ReactNode }): ReactNode {
  const t = useText();
  const past = usePast();
  const { pathname } = useLocation();
  if (past === null || OF_THE_PAST.includes(pathname)) return children;
  const back = (
    <Link to="." search={(before: object) => ({ ...before, as_of: undefined }) as never} className={buttonClass()}>
      {t.past.back}
    </Link>
  );
  const place = PLACES.find(({ path }) => path === pathname);
  return (
    <Page title={place === undefined ? "" : t.places[place.name]}>
      <Empty icon="past" title={t.past.presentOnly} hint={t.past.presentOnlyHint} action={back} />
    </Page>
  );
}
