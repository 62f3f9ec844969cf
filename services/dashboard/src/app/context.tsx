/** What every screen can reach: the server, what is live, messages, and who is signed in. */
import { createContext, type ReactNode, use } from "react";
import type { LiveView } from "@/lib/live/live";
import { useObservable } from "@/lib/react/use-observable";
import type { SessionClient } from "@/lib/session/client";
import { type Action, may } from "@/lib/session/may";
import type { User } from "@/lib/session/session";
import type { Toasts } from "@/ui/toasts";
import type { LiveSession } from "./live-session";
import { usePast } from "./past";

export interface App {
  readonly client: SessionClient;
  readonly toasts: Toasts;
  readonly liveSession: LiveSession;
}

/** Who is signed in, and what they see: the present as it moves, or a moment of the past. */
export interface SignedIn {
  readonly live: LiveView;
  readonly user: User;
}

const AppContext = createContext<App | null>(null);
const SignedInContext = createContext<SignedIn | null>(null);

export function AppProvider({ app, children }: { app: App; children: ReactNode }): ReactNode {
  return <AppContext value={app}>{children}</AppContext>;
}

export function SignedInProvider({ signedIn, children }: { signedIn: SignedIn; children: ReactNode }): ReactNode {
  return <SignedInContext value={signedIn}>{children}</SignedInContext>;
}

export function useApp(): App {
  const app = use(AppContext);
  if (app === null) throw new Error("There is no application around this component");
  return app;
}

export function useSignedIn(): SignedIn {
  const signedIn = use(SignedInContext);
  if (signedIn === null) throw new Error("Nobody is signed in around this component");
  return signedIn;
}

export function useLive(): LiveView {
  return useSignedIn().live;
}

/** The page does not know the farm yet: what it lacks may come. */
export function useIsReading(): boolean {
  const { phase } = useObservable(useLive().status);
  return phase === "connecting" || phase === "loading";
}

/** Whether a button that does this is shown at all. Nothing can be done to the past. */
export function useMay(action: Action): boolean {
  const { user } = useSignedIn();
  return usePast() === null && may(user.role, action);
}
