/** Three phones on their way. */
import type { ReactNode } from "react";

export function Logo({ className = "" }: { className?: string }): ReactNode {
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32" className={`shrink-0 ${className}`}>
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <g className="fill-on-accent">
        <rect x="7" y="8" width="5" height="16" rx="1.5" />
        <rect x="13.5" y="8" width="5" height="16" rx="1.5" opacity=".75" />
        <rect x="20" y="8" width="5" height="16" rx="1.5" opacity=".45" />
      </g>
    </svg>
  );
}
