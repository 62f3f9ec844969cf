/** All shortcuts on one sheet. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Dialog } from "@/ui/dialog";
import { IS_MAC, Kbd } from "@/ui/kbd";
import { PLACES } from "./places";

export function ShortcutHelp({ close }: { close: () => void }): ReactNode {
  const t = useText();
  const groups = [
    {
      title: t.shortcuts.anywhere,
      keys: [
        [IS_MAC ? "⌘ K" : "Ctrl K", t.shortcuts.open],
        ["/", t.shortcuts.search],
        ["n", t.shortcuts.newJob],
        ["t", t.shortcuts.theme],
        ["g t", t.past.name],
        ["[ ]", t.past.step],
        ["Esc", t.shortcuts.close],
        ["?", t.shortcuts.help],
      ],
    },
    { title: t.shortcuts.goTo, keys: PLACES.map((place) => [place.key, t.places[place.name]]) },
    {
      title: t.shortcuts.inLists,
      keys: [
        ["j", t.shortcuts.next],
        ["k", t.shortcuts.previous],
        ["h", t.shortcuts.hold],
        ["x", t.shortcuts.select],
        ["⇧ x", t.shortcuts.selectRange],
      ],
    },
  ] as const;
  return (
    <Dialog close={close} title={t.shortcuts.title} width="w-3xl">
      <div className="grid gap-x-8 gap-y-5 sm:grid-cols-3">
        {groups.map((group) => (
          <section key={group.title}>
            <h3 className="caption mb-2">{group.title}</h3>
            <dl className="flex flex-col gap-2">
              {group.keys.map(([keys, what]) => (
                <div key={what} className="flex items-baseline gap-2 text-sm">
                  <dt className="flex w-14 shrink-0 gap-1">
                    {keys?.split(" ").map((one) => (
                      <Kbd key={one}>{one}</Kbd>
                    ))}
                  </dt>
                  <dd className="text-ink-2">{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
