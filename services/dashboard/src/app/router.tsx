/** Which address shows what. Screens are loaded when somebody goes there. */
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { keepMoment, pastSearch } from "@/app/past-search";
import { only, parseSearch, type RawSearch, stringifySearch, text } from "@/app/search-params";
import type { SessionClient } from "@/lib/session/client";
import { alertsSearch } from "@/screens/alerts/search";
import { analysesSearch } from "@/screens/analyses/search";
import { auditSearch } from "@/screens/audit/search";
import { eventsSearch } from "@/screens/events/search";
import { fleetSearch } from "@/screens/fleet/search";
import { keysSearch } from "@/screens/keys/search";
import { overviewSearch } from "@/screens/overview/search";
import { queueSearch } from "@/screens/queue/search";
import { remindersSearch } from "@/screens/reminders/search";
import { rendersSearch } from "@/screens/renders/search";
import { systemSearch } from "@/screens/system/search";
import { NothingHere, PageFault } from "./faults";
import { Gate } from "./gate";
import { loaded, loadInIdleTime } from "./loading-parts";
import { Root } from "./root";

export interface RouterContext {
  readonly client: SessionClient;
}

const root = createRootRouteWithContext<RouterContext>()({
  component: Root,
  notFoundComponent: NothingHere,
  errorComponent: PageFault,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (raw: RawSearch) => only({ error: text(raw, "error") }),
  component: lazyRouteComponent(() => import("@/screens/sign-in/sign-in"), "SignIn"),
});

/** Everything else needs somebody who is signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Gate,
  validateSearch: pastSearch,
  // Whoever looks at the past goes on doing so, whichever screen they turn to.
  search: { middlewares: [keepMoment] },
  beforeLoad: ({ context, location }) => {
    if (context.client.state.get().status !== "signed-out") return;
    throw redirect({ to: "/sign-in", state: { returnTo: location.href } });
  },
});

/** Loads each screen, in the order in which they were made. */
const loads: (() => Promise<unknown>)[] = [];

/** So that every screen is there when somebody goes to it, even if the server is away by then. */
export function loadScreens(): Promise<void> {
  return loadInIdleTime(loads);
}

/** A screen for whoever is signed in, with what its address may say. */
function screen<const Path extends string, Search, Name extends string>(
  path: Path,
  validateSearch: (raw: RawSearch) => Search,
  load: () => Promise<Record<Name, () => ReactNode>>,
  name: Name,
) {
  loads.push(load);
  return createRoute({
    getParentRoute: () => inside,
    path,
    validateSearch,
    component: lazyRouteComponent(() => loaded(load), name),
  });
}

const overview = screen("/", overviewSearch, () => import("@/screens/overview/overview"), "Overview");
const fleet = screen("/fleet", fleetSearch, () => import("@/screens/fleet/fleet"), "Fleet");
const queue = screen("/queue", queueSearch, () => import("@/screens/queue/queue"), "Queue");
const renders = screen("/renders", rendersSearch, () => import("@/screens/renders/renders"), "Renders");
const analyses = screen("/analyses", analysesSearch, () => import("@/screens/analyses/analyses"), "Analyses");
const reminders = screen("/reminders", remindersSearch, () => import("@/screens/reminders/reminders"), "Reminders");
const events = screen("/events", eventsSearch, () => import("@/screens/events/events"), "Events");
const alerts = screen("/alerts", alertsSearch, () => import("@/screens/alerts/alerts"), "Alerts");
const audit = screen("/audit", auditSearch, () => import("@/screens/audit/audit"), "Audit");
const keys = screen("/keys", keysSearch, () => import("@/screens/keys/keys"), "ApiKeys");
const system = screen("/system", systemSearch, () => import("@/screens/system/system"), "System");

const tree = root.addChildren([
  signIn,
  inside.addChildren([overview, fleet, queue, renders, analyses, reminders, events, alerts, system, audit, keys]),
]);

export function makeRouter(context: RouterContext) {
  return createRouter({
    context,
    routeTree: tree,
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultErrorComponent: PageFault,
    defaultNotFoundComponent: NothingHere,
    notFoundMode: "root",
  });
}

export type Router = ReturnType<typeof makeRouter>;

declare module "@tanstack/react-router" {
  interface Register {
    router: Router;
  }
  interface HistoryState {
    /** Where somebody was when their session ended. */
    returnTo?: string;
  }
}
