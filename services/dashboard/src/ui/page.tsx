/** The frame of a screen: its title, what can be done on it, and what it shows. */
import type { ReactNode } from "react";

export function Page({
  title,
  count,
  tools,
  children,
  panel,
}: {
  title: string;
  count?: ReactNode;
  tools?: ReactNode;
  children: ReactNode;
  panel?: ReactNode;
}): ReactNode {
  return (
    <div className="relative flex h-full min-h-0">
      {/* On a phone a panel covers all of it. */}
      <div className="flex min-w-0 flex-1 flex-col max-sm:has-[+aside]:invisible">
        {/* Tools that have no room beside the title, such as with a panel open, come on a line below it. */}
        <header className="flex min-h-14 shrink-0 flex-wrap items-center justify-end gap-2 border-b border-line bg-surface px-6 py-2 max-sm:px-4">
          <span className="mr-auto flex min-w-0 items-baseline gap-4 pr-2">
            <h1 className="shrink-0 text-[1.0625rem] font-semibold">{title}</h1>
            {count !== undefined && <span className="min-w-0 truncate text-sm text-ink-3">{count}</span>}
          </span>
          {tools}
        </header>
        {children}
      </div>
      {panel}
    </div>
  );
}

export function Card({
  title,
  aside,
  children,
  className = "",
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}): ReactNode {
  return (
    <section className={`card flex min-w-0 flex-col ${className}`}>
      <header className="flex min-h-11 flex-wrap items-center justify-between gap-x-2 px-4 pt-2">
        <h2 className="text-sm font-semibold">{title}</h2>
        {aside}
      </header>
      <div className="min-h-0 flex-1 px-4 pt-1 pb-4">{children}</div>
    </section>
  );
}
