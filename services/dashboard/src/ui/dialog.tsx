/** A question that must be answered first, for as long as it is drawn. Focus stays in it; Escape leaves it. */
import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useState } from "react";
import { useText } from "@/lib/i18n/i18n";
import { IconButton } from "./button";

export interface DialogProps {
  /** Null: it cannot be left without an answer. */
  readonly close: (() => void) | null;
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
  readonly width?: string;
}

export function Dialog({ close, title, lead, children, width = "w-md" }: DialogProps): ReactNode {
  const t = useText();
  // Before a field in it takes the focus for itself: that is where the keyboard goes on afterwards.
  const [before] = useState(() => document.activeElement);
  return (
    <Base.Root open onOpenChange={(open) => open || close?.()}>
      <Base.Portal>
        <Base.Backdrop forceRender className="fixed inset-0 z-40 bg-black/30 dark:bg-black/55" />
        <Base.Popup
          finalFocus={() => (before instanceof HTMLElement && before.isConnected ? before : true)}
          className={`fixed top-[12vh] left-1/2 z-40 max-h-[80vh] max-w-[calc(100vw-2rem)] -translate-x-1/2 max-sm:top-3 max-sm:max-h-[calc(100dvh-1.5rem)] max-sm:max-w-[calc(100vw-1rem)] overflow-auto rounded-xl border border-line bg-surface shadow-raised outline-none ${width}`}
        >
          <div className="flex items-start gap-3 px-5 pt-4">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-[0.9375rem] font-semibold">{title}</Base.Title>
              {lead !== undefined && <Base.Description className="mt-1 text-sm text-ink-2">{lead}</Base.Description>}
            </div>
            {close !== null && (
              <IconButton label={t.common.close} icon="close" className="-mt-1 -mr-2" onClick={close} />
            )}
          </div>
          <div className="px-5 pt-3 pb-5">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
