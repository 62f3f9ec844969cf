/** The words of the page, in the person's language. Both are loaded by themselves: one page needs one. */
import { createContext, type ReactNode, use, useEffect, useState } from "react";
import { LANGUAGES, type Language, preferences } from "../preferences/preferences";
import { useObservable } from "../react/use-observable";
import type { Dictionary } from "./en";

const LOAD: Record<Language, () => Promise<Dictionary>> = {
  en: () => import("./en").then((module) => module.en),
  ko: () => import("./ko").then((module) => module.ko),
};

/** Their own names, as nobody looks for "Korean" in English. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: "English", ko: "한국어" };

const Words = createContext<Dictionary | null>(null);

export function useText(): Dictionary {
  const words = use(Words);
  if (words === null) throw new Error("There are no words outside of <Language>");
  return words;
}

/** Before the first picture, so that it is not empty. */
export function loadLanguage(): Promise<Dictionary> {
  return LOAD[preferences.language.get()]();
}

export function LanguageProvider({ first, children }: { first: Dictionary; children: ReactNode }): ReactNode {
  const language = useObservable(preferences.language);
  const [words, setWords] = useState(first);
  useEffect(() => {
    let isWanted = true;
    LOAD[language]().then((loaded) => {
      if (!isWanted) return;
      setWords(loaded);
      document.documentElement.lang = language;
    });
    return () => {
      isWanted = false;
    };
  }, [language]);
  return <Words value={words}>{children}</Words>;
}

export { LANGUAGES };
