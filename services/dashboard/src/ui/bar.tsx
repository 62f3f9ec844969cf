/** Parts of a whole, side by side. Widths glide, so that a bar that moves all day stays calm. */
import type { ReactNode } from "react";
import type { Tone } from "./status";

export interface Part {
  readonly key: string;
  readonly value: number;
  /** `rest`: what is left over of the whole. */
  readonly tone: Tone | "soft" | "rest";
  readonly label: string;
}

/** The colour of each tone, where it fills something. */
export const FILLS: Record<Part["tone"], string> = {
  busy: "bg-busy",
  online: "bg-online",
  held: "bg-held",
  error: "bg-error",
  offline: "bg-offline",
  soft: "bg-busy-soft",
  rest: "bg-line-strong",
};

export function Bar({
  parts,
  total,
  label,
  className = "h-2",
}: {
  parts: readonly Part[];
  total: number;
  label: string;
  className?: string;
}): ReactNode {
  const said = parts
    .filter((part) => part.value > 0)
    .map((part) => `${part.label} ${part.value}`)
    .join(", ");
  return (
    <div
      role="img"
      aria-label={`${label}: ${said}`}
      className={`flex w-full gap-px overflow-hidden rounded-full bg-sunken ${className}`}
    >
      {parts.map((part) => (
        <div
          key={part.key}
          title={`${part.label}: ${part.value}`}
          className={`h-full transition-[width] duration-500 ease-out ${FILLS[part.tone]}`}
          style={{ width: `${total === 0 ? 0 : (100 * part.value) / total}%` }}
        />
      ))}
    </div>
  );
}
