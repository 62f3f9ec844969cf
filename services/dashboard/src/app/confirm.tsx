/** "Shall it be done?", before what cannot be undone. The way out has the focus. */
import { type ReactNode, useEffect, useRef } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { usePrepareSensitive } from "./prepare-sensitive";

export function Confirm({
  title,
  lead,
  subject,
  over = null,
  keep,
  yes,
  close,
  confirm,
}: {
  title: string;
  lead: ReactNode;
  /** What it is about, by name. */
  subject?: string | undefined;
  /** Why it cannot be done any more. Then there is nothing to choose. */
  over?: string | null;
  keep: string;
  yes: string;
  close: () => void;
  confirm: () => void;
}): ReactNode {
  const t = useText();
  const wayOut = useRef<HTMLButtonElement>(null);
  usePrepareSensitive();
  // The other button may have had the focus.
  useEffect(() => {
    if (over !== null) wayOut.current?.focus();
  }, [over]);
  return (
    <Dialog close={close} title={title} lead={<span aria-live="polite">{over ?? lead}</span>}>
      {subject !== undefined && (
        <p className="mb-4 truncate rounded-md bg-sunken px-3 py-2 text-sm font-medium">{subject}</p>
      )}
      <div className="flex justify-end gap-2">
        <Button ref={wayOut} autoFocus onClick={close}>
          {over === null ? keep : t.common.close}
        </Button>
        {over === null && (
          <Button
            kind="danger"
            onClick={() => {
              close();
              confirm();
            }}
          >
            {yes}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
