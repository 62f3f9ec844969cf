/** A secret that is shown this once. It can only be left by saying so: a click beside it would lose the secret. */
import type { ReactNode } from "react";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { useKeysText } from "./words";

export function ShownOnce({
  title,
  lead,
  label,
  secret,
  close,
}: {
  title: string;
  lead: string;
  label: string;
  secret: string;
  close: () => void;
}): ReactNode {
  const t = useKeysText();
  return (
    <Dialog close={null} title={title} lead={lead} width="w-lg">
      <p className="mb-1 text-sm font-medium text-ink-2">{label}</p>
      <div className="flex items-start gap-2 rounded-md bg-sunken px-3 py-2">
        <code className="min-w-0 flex-1 font-mono text-xs break-all">{secret}</code>
        <CopyButton text={secret} />
      </div>
      <div className="mt-4 flex justify-end">
        <Button kind="primary" onClick={close}>
          {t.keys.done}
        </Button>
      </div>
    </Dialog>
  );
}
