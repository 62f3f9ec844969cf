/** What the server finds for a few letters, as entries of the palette: the best first, none that is there already. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Found } from "@/lib/api/schema";
import { useApp } from "./context";
import type { PaletteText } from "./palette-text";

/** After the last key: who writes on does not ask for every letter. */
const WAIT_MS = 150;
const Q_MAX = 100;

export function useFind(text: string) {
  const { client } = useApp();
  const q = useSettled(text.trim().slice(0, Q_MAX), WAIT_MS);
  return useQuery({
    queryKey: ["find", q],
    queryFn: ({ signal }) => client.json<Found>(`/api/find?${new URLSearchParams({ q })}`, { signal }),
    enabled: q !== "",
    placeholderData: (before) => (q === "" ? undefined : before),
    retry: false,
  });
}

/** What it was a moment ago, and has been since. */
function useSettled(value: string, forMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), forMs);
    return () => clearTimeout(timer);
  }, [value, forMs]);
  return settled;
}

/** Where an entry leads. */
export type Target =
  | { readonly to: "/queue"; readonly search: { readonly job: string } }
  | { readonly to: "/renders"; readonly search: { readonly render: string } }
  | { readonly to: "/analyses"; readonly search: { readonly user: string } }
  | {
      readonly to: "/events";
      readonly search: { readonly type?: string; readonly entity?: string; readonly event?: string };
    };

export interface ServerEntry {
  readonly id: string;
  readonly icon: "queue" | "renders" | "person" | "events";
  readonly label: string;
  readonly detail: string;
  readonly target: Target;
}

export interface ServerGroup {
  readonly title: string;
  readonly entries: readonly ServerEntry[];
}

/** `text`: what was asked for. `isKnown`: whether a job is among those that the page has found itself. */
export function serverGroups(
  found: Found | undefined,
  text: string,
  t: PaletteText,
  ago: (at: string) => string,
  isKnown: (job: string) => boolean,
): ServerGroup[] {
  if (found === undefined || text.trim() === "") return [];
  const jobs = found.jobs
    .filter((job) => !isKnown(job.id))
    .map(
      (job): ServerEntry => ({
        id: `ended-${job.id}`,
        icon: "queue",
        label: job.title ?? t.queue.untitled,
        detail: `${t.jobStatus[job.status as keyof typeof t.jobStatus] ?? job.status} · ${ago(job.created_at)}`,
        target: { to: "/queue", search: { job: job.id } },
      }),
    );
  const renders = found.renders.map(
    (render): ServerEntry => ({
      id: `render-${render.id}`,
      icon: "renders",
      label: `${render.composition_name} ${t.find.render(render.id)}`,
      detail: `${t.renders.status[render.status as keyof typeof t.renders.status] ?? render.status} · ${ago(render.created_at)}`,
      target: { to: "/renders", search: { render: String(render.id) } },
    }),
  );
  const users = found.users.map(
    (user): ServerEntry => ({
      id: `user-${user.id}`,
      icon: "person",
      label: user.id,
      detail: user.frozen ? `${user.tier} · ${t.find.frozen}` : user.tier,
      target: { to: "/analyses", search: { user: user.id } },
    }),
  );
  const about: ServerEntry[] =
    found.events.length === 0
      ? []
      : [
          {
            id: "events-about",
            icon: "events",
            label: t.find.eventsAbout(text.trim()),
            detail: "",
            target: { to: "/events", search: { entity: text.trim() } },
          },
        ];
  const events = found.events.map(
    (event): ServerEntry => ({
      id: `event-${event.context}-${event.seq}-${event.line}`,
      icon: "events",
      label: event.type,
      detail: ago(event.at),
      target: { to: "/events", search: { event: `${event.context}=${event.seq}.${event.line}` } },
    }),
  );
  const types = found.event_types.map(
    (type): ServerEntry => ({
      id: `type-${type}`,
      icon: "events",
      label: t.find.eventsOfType(type),
      detail: "",
      target: { to: "/events", search: { type } },
    }),
  );
  return [
    { title: t.find.endedJobs, entries: jobs },
    { title: t.find.renders, entries: renders },
    { title: t.find.users, entries: users },
    { title: t.find.events, entries: [...about, ...events, ...types] },
  ].filter((group) => group.entries.length > 0);
}
