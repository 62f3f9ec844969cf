/** Short messages that go by themselves; one with a button stays until it is answered. */
import { type ReactNode, useEffect } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useObservable } from "@/lib/react/use-observable";
import { Observable } from "@/lib/session/observable";
import { Button, IconButton } from "./button";

export interface Toast {
  readonly id: number;
  readonly kind: "done" | "fault" | "news";
  readonly title: string;
  readonly text?: string | undefined;
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

const SHOWN_MS = 6_000;
const TOASTS_MAX = 4;

export class Toasts extends Observable<readonly Toast[]> {
  #next = 1;

  constructor() {
    super([]);
  }

  show(toast: Omit<Toast, "id">): void {
    const others = this.get().filter((other) => other.title !== toast.title || other.text !== toast.text);
    this.set([...others, { ...toast, id: this.#next++ }].slice(-TOASTS_MAX));
  }

  dismiss(id: number): void {
    this.set(this.get().filter((toast) => toast.id !== id));
  }
}

const STRIPES: Record<Toast["kind"], string> = { done: "bg-online", fault: "bg-error", news: "bg-busy" };

export function ToastList({ toasts }: { toasts: Toasts }): ReactNode {
  const shown = useObservable(toasts);
  return (
    <div
      role="log"
      aria-live="polite"
      className="fixed right-4 bottom-4 z-50 max-sm:bottom-[calc(4rem+env(safe-area-inset-bottom))] flex w-88 max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {shown.map((toast) => (
        <ToastCard key={toast.id} toast={toast} dismiss={() => toasts.dismiss(toast.id)} />
      ))}
    </div>
  );
}

function ToastCard({ toast, dismiss }: { toast: Toast; dismiss: () => void }): ReactNode {
  const t = useText();
  const stays = toast.action !== undefined;
  useEffect(() => {
    if (stays) return;
    const timer = setTimeout(dismiss, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [stays, dismiss]);
  return (
    <div
      role={toast.kind === "fault" ? "alert" : undefined}
      className="flex overflow-hidden rounded-lg border border-line bg-surface shadow-raised"
    >
      <div className={`w-1 shrink-0 ${STRIPES[toast.kind]}`} />
      <div className="min-w-0 flex-1 px-3 py-2.5">
        <p className="text-sm font-medium break-words">{toast.title}</p>
        {toast.text !== undefined && <p className="text-sm break-words text-ink-2">{toast.text}</p>}
        {toast.action !== undefined && (
          <Button
            className="mt-2"
            onClick={() => {
              dismiss();
              toast.action?.run();
            }}
          >
            {toast.action.label}
          </Button>
        )}
      </div>
      <IconButton label={t.common.close} icon="close" className="m-1" onClick={dismiss} />
    </div>
  );
}
