/** The way to the events of one thing. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

export function EventsLink({ entity, children }: { entity: string; children: ReactNode }): ReactNode {
  return (
    <Link to="/events" search={{ entity }} className="text-xs text-ink-3 underline-offset-2 hover:underline">
      {children}
    </Link>
  );
}
