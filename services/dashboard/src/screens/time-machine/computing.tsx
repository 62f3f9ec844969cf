/** A moment that takes the server long: how far it is. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { FILLS } from "@/ui/bar";

/** `share`: from 0 to 1. Null: the server does not know yet how much there is to do. */
export function Computing({ share }: { share: number | null }): ReactNode {
  const t = useText();
  const percent = share === null ? null : Math.floor(100 * share);
  return (
    <span className="flex items-center gap-2">
      <span className="shrink-0">{t.past.computing(percent)}</span>
      <span
        role="progressbar"
        aria-label={t.past.computing(null)}
        aria-valuemin={0}
        aria-valuemax={100}
        {...(percent === null ? {} : { "aria-valuenow": percent })}
        className="h-1.5 max-w-60 min-w-16 flex-1 overflow-hidden rounded-full bg-sunken"
      >
        <span
          className={`block h-full rounded-full ${FILLS.held} transition-[width] duration-500 ease-out ${percent === null ? "animate-pulse opacity-60" : ""}`}
          style={{ width: `${percent ?? 100}%` }}
        />
      </span>
    </span>
  );
}
