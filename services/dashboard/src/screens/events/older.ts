/** Events from before this page listened. Looked for in windows of time that grow while they hold little. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useApp } from "@/app/context";
import type { Begin } from "@/lib/live/event-feed";
import { type Query, type ReadOptions, rows, type Server } from "@/lib/rest/read";
import type { EventRow } from "@/lib/rest/rows";
import { kindFilter } from "./about";
import type { Kind } from "./search";

const PAGE = 200;
const FIRST_WINDOW_MS = 10 * 60_000;
/** In one look. Farther back is one more press of the button. */
const WINDOWS_MAX = 10;
/** The farm is not older than this. */
const HORIZON_MS = 400 * 86_400_000;

export interface Place {
  readonly until: number;
  readonly windowMs: number;
}

interface Found {
  readonly events: readonly EventRow[];
  /** Null: there is nothing before. */
  readonly next: Place | null;
}

export interface OlderWish {
  readonly kind: Kind;
  readonly entity: string | undefined;
  readonly type?: string | undefined;
  /** Not before this, in milliseconds since 1970. */
  readonly from?: number | null;
  /** Before this. */
  readonly to?: number | null;
}

export async function lookBack(
  server: Server,
  wish: OlderWish,
  from: Place,
  options: ReadOptions = {},
): Promise<Found> {
  const oldest = Math.max(wish.from ?? 0, Date.now() - HORIZON_MS);
  let { until, windowMs } = from;
  if (until <= oldest) return { events: [], next: null };
  for (let look = 0; look < WINDOWS_MAX; look++) {
    const since = Math.max(until - windowMs, wish.from ?? 0);
    const events = await rows<EventRow>(server, "events", query(wish, since, until), options);
    const last = events.at(-1);
    if (events.length === PAGE && last !== undefined) {
      return { events, next: { until: Date.parse(last.at), windowMs } };
    }
    until = since;
    windowMs *= 2;
    if (until <= oldest) return { events, next: null };
    if (events.length > 0) return { events, next: { until, windowMs } };
  }
  return { events: [], next: { until, windowMs } };
}

function query(wish: OlderWish, since: number, until: number): Query {
  return {
    and: `(at.gte.${new Date(since).toISOString()},at.lt.${new Date(until).toISOString()})`,
    ...wishFilter(wish),
    order: ORDER,
    limit: PAGE,
  };
}

const ORDER = "at.desc,context.desc,seq.desc,line.desc";

/** All events that are wished for, at once. */
export function exportQuery(wish: OlderWish): Query {
  const ends = [
    ...(wish.from == null ? [] : [`at.gte.${new Date(wish.from).toISOString()}`]),
    ...(wish.to == null ? [] : [`at.lt.${new Date(wish.to).toISOString()}`]),
  ];
  return { ...(ends.length === 0 ? {} : { and: `(${ends.join(",")})` }), ...wishFilter(wish), order: ORDER };
}

function wishFilter(wish: OlderWish): Query {
  return {
    ...kindFilter(wish.kind),
    ...(wish.type === undefined ? {} : { type: `eq.${wish.type}` }),
    ...(wish.entity === undefined ? {} : { entities: `cs.{${wish.entity}}` }),
  };
}

/** The clock of the server may be ahead of this one; what is read and heard is shown once. */
const CLOCKS_APART_MS = 60_000;

/** `before`: when the page began to listen, and up to which position it has not heard. Null: it has not begun. */
export function useOlder(wish: OlderWish, before: Begin | null) {
  const { client } = useApp();
  return useInfiniteQuery({
    queryKey: ["older-events", wish, before],
    initialPageParam: {
      until: Math.min(untilOf(before), wish.to ?? Number.POSITIVE_INFINITY),
      windowMs: FIRST_WINDOW_MS,
    } as Place,
    queryFn: ({ pageParam }) => lookBack(client, wish, pageParam, { minPosition: before?.minPosition }),
    enabled: before !== null,
    getNextPageParam: (found) => found.next,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function untilOf(before: Begin | null): number {
  if (before === null) return 0;
  return before.minPosition === undefined ? before.at : before.at + CLOCKS_APART_MS;
}
