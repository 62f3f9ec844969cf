/** The buttons that save a table as a file. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Exported, type ExportFormat, save } from "@/lib/export/export";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { useTableText } from "@/ui/table-text";
import { useApp } from "./context";

const FORMATS: readonly ExportFormat[] = ["csv", "json"];

/** `of`: what the table is called. `what`: is asked when somebody exports. */
export function ExportButton({ of, what }: { of: string; what: () => Exported }): ReactNode {
  const { tables } = useTableText();
  const format = useFormat();
  const { client, toasts } = useApp();
  const exporting = useMutation({
    mutationFn: (as: ExportFormat) => save(client, what(), as),
    onSuccess: ({ rows, isCut }) =>
      toasts.show({
        kind: isCut ? "news" : "done",
        title: tables.exported(format.number(rows)),
        ...(isCut ? { text: tables.cut } : {}),
      }),
  });
  return (
    // biome-ignore lint/a11y/useSemanticElements: two buttons are no form
    <div role="group" aria-label={tables.exportOf(of)} className="flex shrink-0">
      {FORMATS.map((as, at) => (
        <Button
          key={as}
          {...(at === 0 ? { icon: "download" as const } : {})}
          aria-label={tables.exportAs(of, as.toUpperCase())}
          title={tables.exportAs(of, as.toUpperCase())}
          aria-busy={exporting.isPending}
          disabled={exporting.isPending}
          className={at === 0 ? "rounded-r-none" : "-ml-px rounded-l-none"}
          onClick={() => exporting.mutate(as)}
        >
          {as.toUpperCase()}
        </Button>
      ))}
    </div>
  );
}
