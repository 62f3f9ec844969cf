/** A page for tests of components: words, a session, what is live, and a place to stand in. */
import { QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { expect, vi } from "vitest";
import { en } from "@/lib/i18n/en";
import { LanguageProvider } from "@/lib/i18n/i18n";
import { Frames } from "@/lib/live/frame";
import { Live } from "@/lib/live/live";
import type { Role } from "@/lib/session/session";
import { Given, type Tab } from "@/lib/session/testing/given";
import { Toasts } from "@/ui/toasts";
import { AppProvider, SignedInProvider } from "./context";
import { DialogHost } from "./dialog-host";
import { LiveSession } from "./live-session";
import { createQueryClient } from "./queries";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

export class TestPage {
  readonly given = new Given();
  readonly toasts = new Toasts();
  readonly live = new Live(
    { json: () => Promise.resolve([] as never), request: () => new Promise(() => {}) },
    { frames: new Frames((flush) => flush()), seesAlarms: true },
  );
  tab: Tab | undefined;

  async show(role: Role, children: ReactNode): Promise<void> {
    this.given.server.user = { ...this.given.server.user, role };
    this.tab = await this.given.signedInTab();
    const { client } = this.tab;
    const app = { client, toasts: this.toasts, liveSession: new LiveSession(client) };
    app.liveSession.get()?.live.stop();
    const place = document.body.appendChild(document.createElement("div"));
    const user = { id: "user-1", role, email: null };
    await act(async () =>
      createRoot(place).render(
        <LanguageProvider first={en}>
          <QueryClientProvider client={createQueryClient(this.toasts, () => en)}>
            <AppProvider app={app}>
              <SignedInProvider signedIn={{ live: this.live, user }}>
                <DialogHost place="/">{children}</DialogHost>
              </SignedInProvider>
            </AppProvider>
          </QueryClientProvider>
        </LanguageProvider>,
      ),
    );
  }

  get text(): string {
    return document.body.textContent ?? "";
  }

  buttons(): string[] {
    return [...document.querySelectorAll("button")].map(
      (one) => one.getAttribute("aria-label") ?? one.textContent ?? "",
    );
  }

  async press(name: string): Promise<void> {
    const found = [...document.querySelectorAll("button")].find(
      (one) => (one.getAttribute("aria-label") ?? one.textContent) === name,
    );
    if (found === undefined) throw new Error(`There is no button ${name}, but ${this.buttons().join(", ")}`);
    await act(async () => found.click());
  }

  async write(field: string, text: string): Promise<void> {
    const input = document.querySelector<HTMLInputElement>(`input[name=${field}]`);
    if (input === null) throw new Error(`There is no field ${field}`);
    await act(async () => {
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }

  /** Waits until the page says so. */
  async says(text: string): Promise<void> {
    await this.until(() => expect(this.text).toContain(text));
  }

  /** Waits until nothing is thrown any more. A busy machine takes its time: the second of `vi.waitFor` is too short. */
  async until(check: () => void): Promise<void> {
    await act(() => vi.waitFor(check, { timeout: 20_000 }));
  }

  /** Lets everything happen that is under way. Many short waits: one long wait is over after a single turn of the loop,
   * if the machine was busy meanwhile. */
  async settle(): Promise<void> {
    await act(async () => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    });
  }
}
