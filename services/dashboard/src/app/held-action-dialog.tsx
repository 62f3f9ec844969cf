/** A sensitive action whose session ended: sign in here, then it is offered again. Nothing of the page is lost. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useObservable } from "@/lib/react/use-observable";
import { SIGN_IN_AND_TRY_AGAIN } from "@/lib/session/messages";
import { SignInForm } from "@/screens/sign-in/sign-in-form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { useApp } from "./context";

export function HeldActionDialog(): ReactNode {
  const { client } = useApp();
  const t = useText();
  const [action] = useObservable(client.held);
  const isSignedIn = useObservable(client.state).status === "signed-in";
  if (action === undefined) return null;
  if (!isSignedIn) {
    const translated = t.session.expiredInAction === SIGN_IN_AND_TRY_AGAIN ? undefined : t.session.expiredInAction;
    return (
      <Dialog close={action.abandon} title={SIGN_IN_AND_TRY_AGAIN} lead={translated}>
        <p className="mb-4 rounded-md bg-sunken px-3 py-2 text-sm">{action.label}</p>
        <SignInForm />
      </Dialog>
    );
  }
  return (
    <Dialog close={action.abandon} title={t.session.heldTitle} lead={t.session.heldLead}>
      <p className="mb-4 rounded-md bg-sunken px-3 py-2 text-sm font-medium">{action.label}</p>
      <div className="flex justify-end gap-2">
        <Button onClick={action.abandon}>{t.session.heldAbandon}</Button>
        <Button kind="primary" onClick={action.again}>
          {t.session.heldAgain}
        </Button>
      </div>
    </Dialog>
  );
}
