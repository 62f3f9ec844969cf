/** Before the first page: who was signed in is signed in again. While the server is away, the page says so. */
import type { ReactNode } from "react";
import type { Root } from "react-dom/client";
import type { Dictionary } from "@/lib/i18n/en";
import type { SessionClient } from "@/lib/session/client";
import { Icon } from "@/ui/icon";

const AGAIN_MS = 2_000;

export async function restoreSession(client: SessionClient, view: Root, words: () => Dictionary): Promise<void> {
  while (true) {
    try {
      await client.restore();
      return;
    } catch {
      view.render(<ServerAway t={words()} />);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

function ServerAway({ t }: { t: Dictionary }): ReactNode {
  return (
    <main role="alert" className="grid h-full place-items-center p-4 text-center">
      <div>
        <Icon name="alerts" className="mx-auto mb-2 size-6 text-held-ink" />
        <p className="font-medium">{t.session.serverAway}</p>
        <p className="max-w-prose text-sm text-ink-3">{t.session.serverAwayHint}</p>
      </div>
    </main>
  );
}
