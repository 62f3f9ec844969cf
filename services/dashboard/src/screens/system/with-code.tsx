/** Words with commands in them: what stands between two backticks is shown as it is typed. */
import type { ReactNode } from "react";

export function WithCode({ text }: { text: string }): ReactNode {
  return text.split("`").map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <code key={part} className="rounded bg-sunken px-1 font-mono text-xs text-ink-2">
        {part}
      </code>
    ),
  );
}
