/** Light or dark: as the person chose, else as the system is, also when that changes. */
import { preferences, type Theme } from "./preferences";

export function followTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset["theme"] = isDark(preferences.theme.get(), system.matches) ? "dark" : "light";
  };
  preferences.theme.subscribe(apply);
  system.addEventListener("change", apply);
  apply();
}

export function isDark(theme: Theme, systemIsDark: boolean): boolean {
  return theme === "dark" || (theme === "system" && systemIsDark);
}

/** From what is seen now to the other. */
export function toggleTheme(): void {
  const { theme } = document.documentElement.dataset;
  preferences.theme.set(theme === "dark" ? "light" : "dark");
}
