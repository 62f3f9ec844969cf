/** "Shall it be done?", before what cannot be undone. The way out has the focus. */
import type { ReactNode } from "react";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { usePrepareSensitive } from "./prepare-sensitive";

export function Confirm({
  title,
  lead,
  keep,
  yes,
  close,
  confirm,
}: {
  title: string;
  lead: ReactNode;
  keep: string;
  yes: string;
  close: () => void;
  confirm: () => void;
}): ReactNode {
  usePrepareSensitive();
  return (
    <Dialog close={close} title={title} lead={lead}>
      <div className="flex justify-end gap-2">
        <Button autoFocus onClick={close}>
          {keep}
        </Button>
        <Button
          kind="danger"
          onClick={() => {
            close();
            confirm();
          }}
        >
          {yes}
        </Button>
      </div>
    </Dialog>
  );
}
