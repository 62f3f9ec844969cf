/** The other tabs of this browser: one refreshes for all, and all leave together. Nothing is stored. */
import type { Session } from "./session";

export type TabMessage =
  | { readonly kind: "session"; readonly session: Session }
  | { readonly kind: "signed-out"; readonly why: "asked" | "expired" };

export interface Tabs {
  /** How much later than the others this tab does what each of them is about to do. */
  readonly lagMs: number;
  /** Runs when no other tab does. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  tell(message: TabMessage): void;
  /** Returns how to stop. */
  listen(listener: (message: TabMessage) => void): () => void;
}

const NAME = "drover-session";
const LAG_MAX_MS = 10_000;

/**
 * Web Locks and BroadcastChannel. Locks exist on HTTPS and localhost only; without them two tabs may refresh at once,
 * which the server forgives for 10 s.
 */
export function browserTabs(): Tabs {
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(NAME) : null;
  const locks: LockManager | undefined = globalThis.navigator?.locks;
  return {
    lagMs: Math.random() * LAG_MAX_MS,
    exclusively: (work) => (locks ? locks.request(NAME, work) : work()),
    tell: (message) => channel?.postMessage(message),
    listen(listener) {
      const hear = (event: MessageEvent<TabMessage>) => listener(event.data);
      channel?.addEventListener("message", hear);
      return () => channel?.removeEventListener("message", hear);
    },
  };
}
