/** What stands where there is nothing to show: not yet, nothing, or a fault. Each says what to do. */
import type { ReactNode } from "react";
import { useErrorText } from "@/lib/errors/error-text";
import { useText } from "@/lib/i18n/i18n";
import { percentBuilt } from "@/lib/session/errors";
import { Button } from "./button";
import { Icon, type IconName } from "./icon";

interface EmptyProps {
  readonly icon?: IconName;
  readonly title: string;
  readonly hint?: string | undefined;
  readonly action?: ReactNode;
  /** For a part of a page. */
  readonly isSmall?: boolean;
}

export function Empty({ icon, title, hint, action, isSmall = false }: EmptyProps): ReactNode {
  return (
    <div className={`flex flex-col items-center justify-center gap-1 px-4 text-center ${isSmall ? "py-6" : "py-16"}`}>
      {icon !== undefined && <Icon name={icon} className="mb-2 size-6 text-ink-3" />}
      <p className={isSmall ? "text-sm text-ink-2" : "font-medium text-ink"}>{title}</p>
      {hint !== undefined && <p className="max-w-prose text-sm text-ink-3">{hint}</p>}
      {action !== undefined && <div className="mt-3">{action}</div>}
    </div>
  );
}

export function Loading({ isSmall = false, text }: { isSmall?: boolean; text?: string }): ReactNode {
  const t = useText();
  return (
    <p role="status" className={`px-4 text-center text-sm text-ink-3 ${isSmall ? "py-6" : "py-16"}`}>
      {text ?? t.common.loading}
    </p>
  );
}

/** A fault with a way on. */
export function ErrorState({
  error,
  retry,
  isSmall = false,
}: {
  error: unknown;
  retry?: () => void;
  isSmall?: boolean;
}): ReactNode {
  const t = useText();
  const text = useErrorText();
  if (percentBuilt(error) !== null) return <Building isSmall={isSmall} text={text(error)} />;
  return (
    <div role="alert" className={`flex flex-col items-center gap-1 px-4 text-center ${isSmall ? "py-6" : "py-16"}`}>
      <Icon name="alerts" className="mb-1 size-5 text-error-ink" />
      <p className="font-medium">{t.errors.title}</p>
      <p className="max-w-prose text-sm text-ink-2">{text(error)}</p>
      {retry !== undefined && (
        <Button className="mt-3" onClick={retry}>
          {t.common.retry}
        </Button>
      )}
    </div>
  );
}

/** No fault: the tables are made anew after an upgrade, and the page reads them as soon as they are complete. */
function Building({ isSmall, text }: { isSmall: boolean; text: string }): ReactNode {
  const t = useText();
  return (
    <div role="status">
      <Empty isSmall={isSmall} title={t.errors.building} hint={text} />
    </div>
  );
}

export interface ReadState {
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** Stands where the answer of a read will be: it is on its way, it failed, or there is no such thing. */
export function Unread({
  of: read,
  absent = false,
  isSmall = true,
}: {
  of: ReadState;
  /** Says that there is no such thing; false: that is not known. */
  absent?: string | false;
  isSmall?: boolean;
}): ReactNode {
  if (read.error !== null) return <ErrorState isSmall={isSmall} error={read.error} retry={() => void read.refetch()} />;
  if (absent !== false) return <Empty isSmall={isSmall} title={absent} />;
  return <Loading isSmall={isSmall} />;
}
