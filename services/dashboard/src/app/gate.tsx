/** Lets in who is signed in. Who is not has been sent to the sign-in page by the route or by the session itself. */
import { lazy, type ReactNode, Suspense } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useObservable } from "@/lib/react/use-observable";
import { Loading } from "@/ui/states";
import { SignedInProvider, useApp } from "./context";
import { Shell } from "./shell";
import { TimeTravel } from "./time-travel";

const HeldActionDialog = lazy(() =>
  import("./held-action-dialog").then((module) => ({ default: module.HeldActionDialog })),
);

export function Gate(): ReactNode {
  const { client, liveSession } = useApp();
  const isHolding = useObservable(client.held).length > 0;
  const current = useObservable(liveSession);
  const t = useText();
  if (current === null) return <Loading text={t.session.restoring} />;
  return (
    <SignedInProvider signedIn={current}>
      <TimeTravel>
        <Shell />
      </TimeTravel>
      <Suspense>{isHolding && <HeldActionDialog />}</Suspense>
    </SignedInProvider>
  );
}
