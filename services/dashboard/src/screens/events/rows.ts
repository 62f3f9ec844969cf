/** Events in one shape, whether they were heard or read. */
import type { HeardEvent } from "@/lib/live/tail";
import type { EventRow } from "@/lib/rest/rows";
import type { EventData } from "./about";

export interface ShownEvent {
  /** `fleet=12.3` */
  readonly place: string;
  readonly context: string;
  readonly at: string;
  readonly type: string;
  readonly by: string;
  readonly cause: string;
  readonly data: EventData;
}

export function fromHeard({ place, context, event }: HeardEvent): ShownEvent {
  const { at, type, by, cause } = event;
  return { place, context, at, type, by, cause, data: event };
}

export function fromRow(row: EventRow): ShownEvent {
  const { context, at, type, by, cause, seq, line } = row;
  return { place: `${context}=${seq}.${line}`, context, at, type, by, cause, data: { ...row.data, type } };
}

export interface PlaceInLog {
  readonly context: string;
  readonly seq: number;
  readonly line: number;
}

export function parsePlace(place: string): PlaceInLog | null {
  const match = /^([a-z][a-z0-9_]*)=(\d+)\.(\d+)$/.exec(place);
  return match?.[1] === undefined ? null : { context: match[1], seq: Number(match[2]), line: Number(match[3]) };
}
