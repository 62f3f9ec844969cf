/** Who is signed in, and what they chose for themselves. */
import type { ReactNode } from "react";
import { LANGUAGE_NAMES, useText } from "@/lib/i18n/i18n";
import { LANGUAGES, preferences, THEMES } from "@/lib/preferences/preferences";
import { useObservable } from "@/lib/react/use-observable";
import { Menu, MenuChoice, MenuItem, MenuLine } from "@/ui/menu";
import { useApp } from "./context";
import { UserButton } from "./user-button";

export function UserMenu({ showHelp, showSessions }: { showHelp: () => void; showSessions: () => void }): ReactNode {
  const { client } = useApp();
  const t = useText();
  const theme = useObservable(preferences.theme);
  const language = useObservable(preferences.language);
  return (
    <Menu trigger={<UserButton />} side="top" isOpenAtFirst>
      <MenuChoice
        label={t.theme.label}
        value={theme}
        choices={THEMES.map((value) => ({ value, label: t.theme[value] }))}
        onChange={(value) => preferences.theme.set(value)}
      />
      <MenuChoice
        label={t.language.label}
        value={language}
        choices={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
        onChange={(value) => preferences.language.set(value)}
      />
      <MenuLine />
      <MenuItem icon="person" onClick={showSessions}>
        {t.session.sessions}
      </MenuItem>
      <MenuItem icon="keyboard" onClick={showHelp}>
        {t.shortcuts.title}
      </MenuItem>
      <MenuItem icon="leave" onClick={() => void client.signOut()}>
        {t.session.signOut}
      </MenuItem>
    </Menu>
  );
}
