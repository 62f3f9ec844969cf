/** Where a person is signed in, and how to end it. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { EndOthers, SessionList, useOwnSessions } from "@/screens/system/sessions";
import { Dialog } from "@/ui/dialog";
import { Unread } from "@/ui/states";

export function SessionsDialog({ close }: { close: () => void }): ReactNode {
  const t = useText();
  const answer = useOwnSessions();
  const { data } = answer;
  return (
    <Dialog close={close} title={t.session.sessions} lead={t.session.sessionsLead} width="w-lg">
      {data === undefined ? (
        <Unread of={answer} />
      ) : (
        <>
          <div className="-mx-4">
            <SessionList sessions={data} />
          </div>
          <div className="mt-3 flex justify-end empty:hidden">
            <EndOthers sessions={data} />
          </div>
        </>
      )}
    </Dialog>
  );
}
