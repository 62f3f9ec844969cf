/** A part of a screen: its name and what belongs beside it, over a card. */
import type { ReactNode } from "react";

export function Part({
  title,
  count,
  aside,
  children,
}: {
  title: string;
  count?: number;
  aside?: ReactNode;
  children: ReactNode;
}): ReactNode {
  return (
    <section>
      <header className="mb-2 flex min-h-8 flex-wrap items-center justify-between gap-2">
        <h2 className="text-sm font-semibold">
          {title}
          {count !== undefined && count > 0 && <span className="ml-2 font-normal text-ink-3">{count}</span>}
        </h2>
        {aside}
      </header>
      <div className="card @container overflow-hidden">{children}</div>
    </section>
  );
}
