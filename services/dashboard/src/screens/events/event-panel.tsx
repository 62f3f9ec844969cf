/** One event: what was recorded, its cause and its effects, and the attempts it belongs to. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { Actor } from "@/farm/actors";
import { Cause } from "@/farm/code";
import { get } from "@/lib/api/get";
import { useText } from "@/lib/i18n/i18n";
import { rows } from "@/lib/rest/read";
import type { TaskEventRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { CopyButton } from "@/ui/copy";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { ChainTree } from "./chain-tree";
import { parsePlace, type ShownEvent } from "./rows";
import { fromApi } from "./tree";

interface EventPanelProps {
  readonly place: string;
  readonly known: ShownEvent | undefined;
  readonly showEntity: (id: string) => void;
  readonly open: (place: string) => void;
  readonly close: () => void;
}

/** One that the page has not heard or read yet: whoever follows an address asks for it. */
function useEvent(place: string, isKnown: boolean) {
  const { client } = useApp();
  const at = parsePlace(place);
  return useQuery({
    queryKey: ["event", place],
    queryFn: async () => {
      if (at === null) return null;
      return fromApi(await get(client, "/api/events/{context}/{seq}/{line}", { ...at }));
    },
    enabled: !isKnown,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function EventPanel({ place, known, showEntity, open, close }: EventPanelProps): ReactNode {
  const t = useText();
  const format = useFormat();
  const read = useEvent(place, known !== undefined);
  const event = known ?? read.data;
  if (event === undefined || event === null) {
    return (
      <SidePanel title={t.events.selected} subtitle={place} close={close}>
        <Unread of={read} absent={event === null && t.errors.notFound} />
      </SidePanel>
    );
  }
  const ids = Object.entries(event.data).filter(([key, value]) => /_id$/.test(key) && typeof value === "string");
  const assignment = event.data["assignment_id"];
  return (
    <SidePanel title={event.type} subtitle={format.full(event.at)} close={close}>
      <Section title={t.common.details}>
        <Facts
          facts={[
            [
              t.events.place,
              <span key="p" className="font-mono text-xs">
                {event.place}
              </span>,
            ],
            [
              t.events.by,
              <span key="by" className="flex items-center">
                <Actor by={event.by} />
                <CopyButton text={event.by} />
              </span>,
            ],
            [
              t.events.cause,
              <span key="c" className="font-mono text-xs break-all">
                {event.cause}
              </span>,
            ],
            ...ids.map(([key, value]): [string, ReactNode] => [
              key.replace(/_id$/, ""),
              <button
                key={key}
                type="button"
                title={t.events.entity}
                className="rounded text-left font-mono text-xs break-all underline-offset-2 hover:underline"
                onClick={() => showEntity(String(value))}
              >
                {String(value)}
              </button>,
            ]),
          ]}
        />
      </Section>
      <Section title={t.events.tree}>
        <ChainTree key={event.place} place={event.place} open={open} />
      </Section>
      {typeof assignment === "string" && (
        <Section title={t.events.attemptStory}>
          <Story assignment={assignment} />
        </Section>
      )}
      <Section title={t.events.data} aside={<CopyButton text={JSON.stringify(event.data, null, 2)} />}>
        <pre className="rounded-md break-words whitespace-pre-wrap bg-sunken p-3 font-mono text-xs leading-5">
          {JSON.stringify(event.data, null, 2)}
        </pre>
      </Section>
    </SidePanel>
  );
}

/** From the offer to the end, with every retry. */
function Story({ assignment }: { assignment: string }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["story", assignment],
    queryFn: () =>
      rows<TaskEventRow>(client, "tasks_event", { task_device_id: `eq.${assignment}`, order: "id", limit: 1000 }),
  });
  const { data } = answer;
  if (data === undefined) return <Unread of={answer} />;
  return (
    <ol className="ml-1 border-l border-line-strong pl-3">
      {data.map((line) => (
        <li key={line.id} className="flex gap-2 py-0.5 text-sm">
          <span className="w-16 shrink-0 text-ink-3">{format.clock(line.created_at)}</span>
          <span className="shrink-0">{t.attemptEvents[line.event_type]}</span>
          <span className="min-w-0 truncate text-ink-3">
            {t.device.attempt(line.attempt)}
            <Cause code={line.error_code} message={line.message} />
          </span>
        </li>
      ))}
    </ol>
  );
}
