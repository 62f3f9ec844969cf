/** Puts the dashboard together. */
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { AppProvider } from "@/app/context";
import { LiveSession } from "@/app/live-session";
import { LookAgain } from "@/app/look-again";
import { createQueryClient } from "@/app/queries";
import { restoreSession } from "@/app/restore";
import { loadScreens, makeRouter } from "@/app/router";
import { LanguageProvider, loadLanguage } from "@/lib/i18n/i18n";
import { listenToKeyboard } from "@/lib/keys/use-keys";
import { preferences } from "@/lib/preferences/preferences";
import { followTheme } from "@/lib/preferences/theme";
import { SessionClient } from "@/lib/session/client";
import { SESSION_EXPIRED, SIGN_IN_PATH } from "@/lib/session/messages";
import { browserTabs } from "@/lib/session/tabs";
import { Toasts } from "@/ui/toasts";
import "./styles.css";

async function start(): Promise<void> {
  followTheme();
  listenToKeyboard();
  let words = await loadLanguage();
  document.documentElement.lang = preferences.language.get();
  preferences.language.subscribe(async () => {
    words = await loadLanguage();
  });

  const toasts = new Toasts();
  const queries = createQueryClient(toasts, () => words);
  const lookAgain = new LookAgain(() => queries.invalidateQueries());
  const client = new SessionClient({
    fetch: async (path, init) => {
      const answer = await fetch(path, init);
      lookAgain.hear(answer);
      return answer;
    },
    tabs: browserTabs(),
    leave: (path) => {
      if (path === SIGN_IN_PATH) toasts.show({ kind: "done", title: words.session.signedOut });
      const { href, pathname } = router.state.location;
      router.history.push(path, pathname === "/sign-in" ? {} : { returnTo: href });
    },
    tell: (notice) => {
      const { expired, unreachable } = words.session;
      if (notice === "refresh-unreachable") toasts.show({ kind: "fault", title: unreachable });
      else
        toasts.show({ kind: "news", title: SESSION_EXPIRED, text: expired === SESSION_EXPIRED ? undefined : expired });
    },
  });
  const router = makeRouter({ client });
  const liveSession = new LiveSession(client);

  // What was read by one person, or while there was no session, is not for the next.
  let isOut = false;
  client.state.subscribe(() => {
    const { status } = client.state.get();
    if (status === "signed-in" && isOut) void queries.invalidateQueries();
    if (status === "signed-out") queries.clear();
    isOut = status !== "signed-in";
  });
  // Timers sleep with their tab, and with the machine.
  document.addEventListener("visibilitychange", () => client.renewIfDue());
  addEventListener("online", () => client.renewIfDue());

  const root = document.getElementById("root");
  if (root === null) throw new Error("The page has no root");
  const view = createRoot(root);
  await restoreSession(client, view, () => words);
  view.render(
    <LanguageProvider first={words}>
      <QueryClientProvider client={queries}>
        <AppProvider app={{ client, toasts, liveSession }}>
          <RouterProvider router={router} />
        </AppProvider>
      </QueryClientProvider>
    </LanguageProvider>,
  );
  await loadScreens();
}

void start();
