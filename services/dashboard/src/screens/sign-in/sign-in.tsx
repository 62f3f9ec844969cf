/** The door. Says why somebody stands there, and leads back to where they were. */
import { useLocation, useRouter, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { useApp } from "@/app/context";
import { LANGUAGE_NAMES, useText } from "@/lib/i18n/i18n";
import { LANGUAGES, preferences } from "@/lib/preferences/preferences";
import { useObservable } from "@/lib/react/use-observable";
import { SESSION_EXPIRED } from "@/lib/session/messages";
import { Logo } from "@/ui/logo";
import { SignInForm } from "./sign-in-form";

export function SignIn(): ReactNode {
  const { client } = useApp();
  const t = useText();
  const { error } = useSearch({ from: "/sign-in" });
  const { state } = useLocation();
  // As it was when this page came: the next page's has none, and is there before this one has gone.
  const [returnTo] = useState(state.returnTo ?? "/");
  const { history } = useRouter();
  const isSignedIn = useObservable(client.state).status === "signed-in";
  const language = useObservable(preferences.language);
  useEffect(() => {
    document.title = `${t.session.title} · Drover`;
  }, [t]);
  useEffect(() => {
    if (isSignedIn) history.replace(returnTo);
  }, [isSignedIn, history, returnTo]);

  return (
    <main className="grid h-full place-items-center overflow-auto p-4">
      <div className="w-88 max-w-full">
        <div className="mb-6 flex items-center gap-3">
          <Logo className="size-9" />
          <div>
            <h1 className="text-lg leading-6 font-semibold">Drover</h1>
            <p className="text-sm text-ink-3">{t.session.lead}</p>
          </div>
        </div>
        {error === "session_expired" && (
          <div role="alert" className="mb-4 rounded-lg bg-held-soft px-3 py-2 text-sm text-held-ink">
            <p className="font-medium">{SESSION_EXPIRED}</p>
            {t.session.expired !== SESSION_EXPIRED && <p>{t.session.expired}</p>}
          </div>
        )}
        <div className="card p-5">
          <SignInForm />
        </div>
        <p className="mt-4 text-xs text-ink-3">{t.session.hint}</p>
        <div className="mt-4 flex gap-3 text-sm">
          {LANGUAGES.map((one) => (
            <button
              key={one}
              type="button"
              lang={one}
              aria-pressed={one === language}
              className="text-ink-3 hover:text-ink aria-pressed:font-medium aria-pressed:text-ink"
              onClick={() => preferences.language.set(one)}
            >
              {LANGUAGE_NAMES[one]}
            </button>
          ))}
        </div>
      </div>
    </main>
  );
}
