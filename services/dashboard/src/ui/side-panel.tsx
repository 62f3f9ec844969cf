/** Details beside a page, which goes on being used; over it where there is no room for both. Escape closes it. */
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { useText } from "@/lib/i18n/i18n";
import { IconButton } from "./button";

export function SidePanel({
  title,
  subtitle,
  badge,
  actions,
  close,
  children,
}: {
  title: string;
  subtitle?: ReactNode;
  badge?: ReactNode;
  actions?: ReactNode;
  close: () => void;
  children: ReactNode;
}): ReactNode {
  const t = useText();
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef<Element | null>(null);
  // Focus the opened panel before it is painted: somebody who sees it may click into one of its fields at once.
  useLayoutEffect(() => {
    before.current = document.activeElement;
    // A dialog that was opened while the panel was still loading keeps the keyboard.
    if (!before.current?.closest('[role="dialog"]')) heading.current?.focus({ preventScroll: true });
  }, []);
  // Afterwards the keyboard goes on where it was, unless it has gone elsewhere.
  useEffect(
    () => () => {
      const isLost = document.activeElement === null || document.activeElement === document.body;
      if (isLost && before.current instanceof HTMLElement && before.current.isConnected) {
        before.current.focus({ preventScroll: true });
      }
    },
    [],
  );
  return (
    <aside
      aria-label={title}
      className="flex w-[27rem] max-w-full shrink-0 flex-col border-l border-line bg-surface max-lg:absolute max-lg:inset-y-0 max-lg:right-0 max-lg:z-20 max-lg:shadow-raised max-sm:w-full max-sm:border-l-0 max-sm:shadow-none"
    >
      <header className="flex items-start gap-2 border-b border-line py-3 pr-2 pl-4">
        <div className="min-w-0 flex-1">
          <div className="flex items-center gap-2">
            <h2
              ref={heading}
              tabIndex={-1}
              className="truncate text-[0.9375rem] font-semibold outline-none"
              title={title}
            >
              {title}
            </h2>
            {badge}
          </div>
          {subtitle !== undefined && <div className="truncate text-sm text-ink-3">{subtitle}</div>}
        </div>
        {actions}
        <IconButton label={t.common.close} icon="close" onClick={close} />
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
    </aside>
  );
}

export function Section({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}): ReactNode {
  return (
    <section className="border-b border-line px-4 py-3 last:border-b-0">
      <div className="mb-1.5 flex min-h-5 items-center justify-between gap-2">
        <h3 className="caption">{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}

type Fact = readonly [name: string, value: ReactNode];

/** Names and values, aligned. False: there is nothing to say. */
export function Facts({ facts }: { facts: readonly (Fact | false)[] }): ReactNode {
  return (
    <dl className="grid grid-cols-[7rem_1fr] gap-x-3 gap-y-1 text-sm">
      {facts
        .filter((fact) => fact !== false)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink-3">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
