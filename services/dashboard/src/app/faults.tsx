/** When a page is not there, or breaks. */
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Button, buttonClass } from "@/ui/button";
import { Empty } from "@/ui/states";
import { isNotLoaded, reloadWhenBack } from "./loading-parts";

export function NothingHere(): ReactNode {
  const t = useText();
  const back = (
    <Link to="/" className={buttonClass()}>
      {t.errors.toOverview}
    </Link>
  );
  return <Empty icon="question" title={t.errors.nothingHere} action={back} />;
}

/** Shows an error of the page itself, or of loading a part of it. */
export function PageFault({ error }: ErrorComponentProps): ReactNode {
  const isAway = isNotLoaded(error);
  useEffect(() => (isAway ? reloadWhenBack() : undefined), [isAway]);
  return <Fault error={error} isAway={isAway} />;
}

function Fault({ error, isAway }: { error: unknown; isAway: boolean }): ReactNode {
  const t = useText();
  const reload = <Button onClick={() => location.reload()}>{t.errors.reload}</Button>;
  return (
    <div role="alert">
      <Empty
        icon="alerts"
        title={isAway ? t.errors.notLoadedTitle : t.errors.pageTitle}
        hint={isAway ? t.errors.notLoadedHint : t.errors.pageHint}
        action={reload}
      />
      <pre className="mx-auto max-w-xl overflow-auto px-4 text-xs text-ink-3">
        {error instanceof Error ? error.message : String(error)}
      </pre>
    </div>
  );
}
