/** What a person chose for this browser. Kept in `localStorage`; nothing of it is a secret. */
import { Observable } from "../session/observable";

export const LANGUAGES = ["en", "ko"] as const;
export type Language = (typeof LANGUAGES)[number];

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** How large the phones are drawn. */
export const DENSITIES = ["comfortable", "compact"] as const;
export type Density = (typeof DENSITIES)[number];

export const preferences = {
  language: stored("drover.language", LANGUAGES, browserLanguage),
  theme: stored("drover.theme", THEMES, () => "system"),
  density: stored("drover.density", DENSITIES, () => "comfortable"),
};

export function stored<T extends string>(key: string, choices: readonly T[], fallback: () => T): Observable<T> {
  const known = choices.find((choice) => choice === read(key));
  const value = new Observable<T>(known ?? fallback());
  value.subscribe(() => write(key, value.get()));
  return value;
}

function browserLanguage(): Language {
  return globalThis.navigator?.language?.startsWith("ko") ? "ko" : "en";
}

function read(key: string): string | null {
  try {
    return globalThis.localStorage?.getItem(key) ?? null;
  } catch {
    return null; // a browser that keeps nothing for this page
  }
}

function write(key: string, value: string): void {
  try {
    globalThis.localStorage?.setItem(key, value);
  } catch {
    // then it is for this visit only
  }
}
