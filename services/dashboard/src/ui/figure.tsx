/** A number that says how something is, with its name over it and a remark under it. */
import type { ReactNode } from "react";

export function Figure({ name, value, remark }: { name: string; value: ReactNode; remark?: ReactNode }): ReactNode {
  return (
    <section className="card min-w-0 px-4 py-3">
      <h2 className="caption">{name}</h2>
      <p className="mt-0.5 truncate text-2xl leading-8 font-semibold">{value}</p>
      <p className="min-h-4.5 text-xs text-ink-3" title={typeof remark === "string" ? remark : undefined}>
        {remark}
      </p>
    </section>
  );
}
