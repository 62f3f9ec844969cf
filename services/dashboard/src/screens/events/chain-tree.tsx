/** Cause and effects as a tree. Each step further, back or on, is asked for when somebody wants to see it. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { Actor } from "@/farm/actors";
import { useNames } from "@/farm/names";
import { shortId } from "@/farm/short-id";
import { get } from "@/lib/api/get";
import { useText } from "@/lib/i18n/i18n";
import { ApiError } from "@/lib/session/errors";
import { useFormat } from "@/lib/time/format";
import { Icon } from "@/ui/icon";
import { type ReadState, Unread } from "@/ui/states";
import { aboutText, type EventTone, toneOf } from "./about";
import { parsePlace, type ShownEvent } from "./rows";
import { type Effect, shownFirst, treeOf } from "./tree";

const EFFECTS_SHOWN = 12;
/** Deeper than this nothing is set in any further: it would have no room. */
const INDENT_MAX = 6;
/** An event that was heard just now may not be in the tables yet. */
const TRIES_MAX = 4;
const TRY_AGAIN_MS = 500;

interface Opening {
  /** The event that the panel is about. */
  readonly current: string;
  readonly open: (place: string) => void;
}

function useTree(place: string) {
  const { client } = useApp();
  const at = parsePlace(place);
  return useQuery({
    queryKey: ["chain", place],
    queryFn: async () => {
      if (at === null) throw new Error(place);
      return treeOf(await get(client, "/api/events/{context}/{seq}/{line}/chain", { ...at }));
    },
    retry: (failures, error) => error instanceof ApiError && error.status === 404 && failures < TRIES_MAX,
    retryDelay: TRY_AGAIN_MS,
  });
}

export function ChainTree({ place, open }: { place: string; open: (place: string) => void }): ReactNode {
  const answer = useTree(place);
  const { data } = answer;
  if (data === undefined) return <Unread of={answer} />;
  return (
    <ul className="text-sm">
      {data.before !== null && <Before event={data.before} current={place} open={open} />}
      <Command place={place} current={place} open={open} depth={0} />
    </ul>
  );
}

/** What happened to the same thing before; and on request, before that. */
function Before({ event, ...opening }: Opening & { event: ShownEvent }): ReactNode {
  const t = useText();
  const [isFurther, setIsFurther] = useState(false);
  return (
    <>
      {isFurther ? (
        <Earlier place={event.place} {...opening} />
      ) : (
        <li>
          <button
            type="button"
            className="flex items-center gap-1 rounded text-xs text-ink-3 hover:text-ink hover:underline"
            onClick={() => setIsFurther(true)}
          >
            <Icon name="chevron" className="size-3.5 rotate-180" />
            {t.events.earlier}
          </button>
        </li>
      )}
      <li className="flex gap-2 py-0.5">
        <EventLine event={event} {...opening} />
      </li>
      <li aria-hidden="true" className="my-0.5 ml-1 h-3 border-l border-line-strong" />
    </>
  );
}

function Earlier({ place, ...opening }: Opening & { place: string }): ReactNode {
  const t = useText();
  const answer = useTree(place);
  const { data } = answer;
  if (data === undefined) return <Pending answer={answer} />;
  if (data.before === null) return <li className="text-xs text-ink-3">{t.events.beginning}</li>;
  return <Before event={data.before} {...opening} />;
}

/** A command and all that followed from it. */
function Command({ place, depth, ...opening }: Opening & { place: string; depth: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const answer = useTree(place);
  const { data } = answer;
  const [isWhole, setIsWhole] = useState(false);
  if (data === undefined) return <Pending answer={answer} />;
  const { command, effects, isCut } = data;
  const shown = isWhole ? effects : shownFirst(effects, place, EFFECTS_SHOWN);
  return (
    <li>
      <p className="flex items-baseline gap-2 py-0.5">
        <span className="shrink-0 rounded bg-sunken px-1.5 text-xs font-medium text-ink-2" title={command.id}>
          {t.events.cause} {shortId(command.id)}
        </span>
        <span className="min-w-0 flex-1 truncate text-ink-3" title={command.by}>
          <Actor by={command.by} />
        </span>
        <time className="shrink-0 text-xs text-ink-3" dateTime={command.at} title={format.full(command.at)}>
          {format.clock(command.at)}
        </time>
      </p>
      <ul className={`border-l border-line-strong ${depth < INDENT_MAX ? "ml-1.5 pl-3" : "pl-1"}`}>
        {shown.map((effect) => (
          <EffectNode key={effect.event.place} effect={effect} depth={depth} {...opening} />
        ))}
        {shown.length < effects.length && (
          <li>
            <button
              type="button"
              className="rounded text-xs text-ink-3 hover:text-ink hover:underline"
              onClick={() => setIsWhole(true)}
            >
              {t.events.allEffects(effects.length)}
            </button>
          </li>
        )}
        {isCut && <li className="text-xs text-ink-3">{t.events.cut}</li>}
      </ul>
    </li>
  );
}

function EffectNode({ effect, depth, ...opening }: Opening & { effect: Effect; depth: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const [isOpen, setIsOpen] = useState(false);
  const { event, next } = effect;
  const laterMs = next === null ? 0 : Date.parse(next.at) - Date.parse(event.at);
  return (
    <li className="py-0.5">
      <EventLine event={event} {...opening} />
      {next !== null && (
        <>
          <button
            type="button"
            aria-expanded={isOpen}
            className="ml-4 flex max-w-full items-center gap-1 rounded text-xs text-ink-3 hover:text-ink"
            onClick={() => setIsOpen(!isOpen)}
          >
            <Icon name={isOpen ? "chevron" : "right"} className="size-3.5" />
            <span className="truncate">
              {t.events.wentOn(next.type, laterMs < 1_000 ? null : format.duration(laterMs))}
            </span>
          </button>
          {isOpen && (
            <ul className={depth < INDENT_MAX ? "ml-4" : ""}>
              <Command place={next.place} depth={depth + 1} {...opening} />
            </ul>
          )}
        </>
      )}
    </li>
  );
}

const DOTS: Record<EventTone, string> = { plain: "bg-ink-3", good: "bg-online", bad: "bg-error", warn: "bg-held" };

function EventLine({ event, current, open }: Opening & { event: ShownEvent }): ReactNode {
  const t = useText();
  const names = useNames();
  const isCurrent = event.place === current;
  return (
    <button
      type="button"
      aria-current={isCurrent ? "true" : undefined}
      className="-mx-1 flex max-w-full min-w-0 items-center gap-2 rounded px-1 text-left hover:bg-hover aria-[current=true]:bg-accent-soft"
      onClick={() => open(event.place)}
    >
      <span aria-hidden="true" className={`size-1.5 shrink-0 rounded-full ${DOTS[toneOf(event.type)]}`} />
      <span className="shrink-0 font-medium">{event.type}</span>
      <span className="min-w-0 truncate text-ink-3">{aboutText(t, names, event.data)}</span>
    </button>
  );
}

function Pending({ answer }: { answer: ReadState }): ReactNode {
  const t = useText();
  if (answer.error === null) return <li className="text-xs text-ink-3">{t.common.loading}</li>;
  return (
    <li>
      <Unread of={answer} />
    </li>
  );
}
