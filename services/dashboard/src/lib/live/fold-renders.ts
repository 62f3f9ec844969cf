/**
 * How the renders that have not ended follow from their events. The same rules as the projector's
 * (`services/drover/projector/render/queue.py`).
 */
import { type OpenStatus, type RenderRow, STAGES, type StageRow } from "../rest/render-rows";
import type { Envelope } from "./events";
import { micros } from "./moment";
import type { RenderEvents, RenderEventType } from "./render-events";

export interface Render extends Omit<RenderRow, "id"> {
  readonly id: string;
  /** When it came to its stage, in milliseconds of this machine's clock; null: nobody has told. */
  readonly stageSince: number | null;
}

export interface OpenRenders {
  /** In the order in which they were requested. */
  readonly renders: readonly Render[];
  /** Those that ended, and when, in microseconds: a row that was read before does not bring them back. */
  readonly gone: ReadonlyMap<string, number>;
}

export const NO_RENDERS: OpenRenders = { renders: [], gone: new Map() };

/** As many as may still be in the answer of a read that is under way. */
const GONE_MAX = 200;

export interface Folded {
  readonly open: OpenRenders;
  /** The event is about something that is not known here, or says less than the row does: it is to be read again. */
  readonly isStale: boolean;
  readonly hasEnded: boolean;
}

export function renderOf(row: RenderRow, stages: readonly StageRow[] = [], readAt = Date.now()): Render {
  const stage = stages.find((one) => one.under_way);
  const { id, ...rest } = row;
  const since = row.status === "pending" ? Date.parse(row.created_at) : null;
  return { ...rest, id: String(id), stageSince: stage === undefined ? since : readAt - stage.seconds * 1000 };
}

export function isUnderWay(render: Pick<Render, "status">): boolean {
  return STAGES.some((stage) => stage === render.status);
}

export function foldRenders(open: OpenRenders, event: Envelope): Folded {
  const same: Folded = { open, isStale: false, hasEnded: false };
  if (!isKnown(event.type)) return same;
  const id = String((event as RenderEvents[RenderEventType]).render_id);
  const before = open.renders.find((render) => render.id === id);
  if (before !== undefined && micros(event.at) <= micros(before.updated_at)) return same; // its row tells of it already
  if (ENDS.has(event.type)) {
    const renders = before === undefined ? open.renders : open.renders.filter((render) => render !== before);
    return { open: { renders, gone: bounded([...open.gone, [id, micros(event.at)]]) }, isStale: false, hasEnded: true };
  }
  if (event.type === "RenderRequested") {
    const isThere = before !== undefined || open.gone.has(id);
    return isThere ? same : { ...same, open: { ...open, renders: [...open.renders, requested(event as never)] } };
  }
  // One that had ended runs again, or there are more than were read.
  if (before === undefined)
    return { ...same, isStale: event.type === "RenderRequeued" || event.type === "RenderClaimed" };
  const change = RULES[event.type as Changes](before, event as never);
  const at = Date.parse(event.at);
  const stageSince = change.status === undefined || change.status === before.status ? before.stageSince : at;
  const after: Render = { ...before, ...change, stageSince, updated_at: event.at };
  const renders = open.renders.map((render) => (render === before ? after : render));
  return { open: { ...open, renders }, isStale: event.type === "RenderRequeued", hasEnded: false };
}

/** What was read, except where this page has heard more since. */
export function mergeRead(known: OpenRenders | undefined, read: OpenRenders): OpenRenders {
  if (known === undefined) return read;
  const before = new Map(known.renders.map((render) => [render.id, render]));
  const renders = read.renders.flatMap((row) => {
    const endedAt = known.gone.get(row.id);
    if (endedAt !== undefined && micros(row.updated_at) < endedAt) return [];
    const heard = before.get(row.id);
    return heard !== undefined && micros(heard.updated_at) > micros(row.updated_at) ? [heard] : [row];
  });
  return { renders, gone: bounded([...known.gone, ...read.gone]) };
}

type Ends = "RenderCompleted" | "RenderFailed" | "RenderCancelled";
type Changes = Exclude<RenderEventType, Ends | "RenderRequested">;
type Rules = { readonly [Type in Changes]: (render: Render, event: RenderEvents[Type]) => Partial<Render> };

const ENDS: ReadonlySet<string> = new Set<Ends>(["RenderCompleted", "RenderFailed", "RenderCancelled"]);

const RULES: Rules = {
  RenderClaimed: (_, e) => ({
    ...enter("preparing"),
    run: e.run,
    worker_id: e.worker_id,
    lock_expires_at: e.lease_until,
  }),
  LeaseRenewed: (_, e) => ({ lock_expires_at: e.lease_until }),
  RenderSubmitted: (render, e) => ({
    ...enter("rendering"),
    nexrender_job_id: e.nexrender_job_id,
    started_at: render.started_at ?? e.at,
  }),
  // What a worker says in between is in the row: it may be ahead of the events.
  RenderProgressed: (render, e) => ({ progress: Math.max(render.progress, e.progress), retry_due_at: null }),
  EncodingStarted: (_, e) => ({ ...enter("encoding"), progress: e.progress }),
  UploadStarted: () => ({ ...enter("uploading"), progress: 100 }),
  FieldsUnmapped: (_, e) => ({ unmapped_fields: e.fields }),
  RetryScheduled: (_, e) => ({ error_code: e.fault, error_message: e.message, retry_due_at: e.due_at }),
  RenderRequeued: (_, e) => ({
    ...enter("pending"),
    worker_id: null,
    lock_expires_at: null,
    recovery_count: e.recovery_count,
  }),
};

function isKnown(type: string): boolean {
  return Object.hasOwn(RULES, type) || ENDS.has(type) || type === "RenderRequested";
}

function enter(status: OpenStatus): Pick<Render, "status" | "retry_due_at"> {
  return { status, retry_due_at: null };
}

function bounded(gone: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
  return new Map([...new Map(gone)].slice(-GONE_MAX));
}

function requested(event: RenderEvents["RenderRequested"]): Render {
  return {
    id: String(event.render_id),
    composition_id: event.composition_id,
    composition_name: event.composition,
    cue_item_id: event.cue_item_id,
    broadcast_date: event.broadcast_date,
    status: "pending",
    worker_id: null,
    lock_expires_at: null,
    nexrender_job_id: null,
    progress: 0,
    output_file_path: null,
    output_size_bytes: null,
    output_sha256: null,
    error_code: null,
    error_message: null,
    recovery_count: 0,
    run: 0,
    retry_due_at: null,
    unmapped_fields: [],
    created_at: event.at,
    started_at: null,
    updated_at: event.at,
    completed_at: null,
    duration_seconds: null,
    stageSince: Date.parse(event.at),
  };
}
