/** The words of one screen in both languages, loaded with the screen: those of the first page stay few. */
import { useMemo } from "react";
import { type Language, preferences } from "../preferences/preferences";
import { useObservable } from "../react/use-observable";
import type { Dictionary } from "./en";
import { useText } from "./i18n";

/** All words, with those of the screen. */
export function useScreenText<Words extends object>(words: Record<Language, Words>): Dictionary & Words {
  const all = useText();
  const own = words[useObservable(preferences.language)];
  return useMemo(() => ({ ...all, ...own }), [all, own]);
}
