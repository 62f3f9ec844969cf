/** One tab of somebody, with all that it was told and where it was sent. */
import { type Notice, SessionClient } from "../client";
import { FakeServer } from "./server";
import { FakeBrowser } from "./tabs";

export interface Tab {
  readonly client: SessionClient;
  readonly notices: Notice[];
  readonly pages: string[];
}

export class Given {
  readonly server = new FakeServer();
  readonly browser = new FakeBrowser();

  tab(): Tab {
    const notices: Notice[] = [];
    const pages: string[] = [];
    const client = new SessionClient({
      fetch: this.server.fetch,
      tabs: this.browser.openTab(),
      leave: (path) => pages.push(path),
      tell: (notice) => notices.push(notice),
    });
    return { client, notices, pages };
  }

  async signedInTab(): Promise<Tab> {
    const tab = this.tab();
    await tab.client.signIn("anna@example.com", "right");
    return tab;
  }
}

/** How a promise ended, for a test that first moves the clock. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export function outcome<T>(promise: Promise<T>): Promise<Outcome<T>> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}
