/** Moments of the past as `/api/moments` tells them, from the published contract. They never change. */
import type * as Schema from "../api/schema";
import type { Server } from "../rest/read";
import type { RenderStatus } from "../rest/render-rows";
import type { DeviceStatus, JobStatus } from "../rest/rows";
import type { Row } from "../rest/shape";
import { ApiError } from "../session/errors";

/** The contract says of a status only that it is a text. */
type Narrowed<T, Known> = Readonly<Omit<T, keyof Known> & Known>;

export type PastWork = Narrowed<Schema.Work, { status: "pending" | "running" }>;
export type PastDevice = Narrowed<Schema.PastDevice, { status: DeviceStatus; work: PastWork | null }>;
export type PastJob = Narrowed<Schema.PastJob, { status: JobStatus }>;
export type PastRender = Narrowed<Schema.PastRender, { status: RenderStatus }>;

export type FleetMoment = Narrowed<
  Row<Schema.FleetMoment>,
  { devices: readonly PastDevice[]; jobs: readonly PastJob[] }
>;
export type RenderMoment = Narrowed<Row<Schema.RenderMoment>, { renders: readonly PastRender[] }>;

export interface Moments {
  readonly fleet: FleetMoment;
  readonly render: RenderMoment;
}

export function readMoment<C extends keyof Moments>(
  server: Server,
  context: C,
  iso: string,
  signal: AbortSignal,
): Promise<Moments[C]> {
  return server.json<Moments[C]>(`/api/moments/${context}?as_of=${encodeURIComponent(iso)}`, { signal });
}

/** Few moments are looked at at once, for all people together: who comes later is told when to ask again. */
export const BUSY_TRIES_MAX = 20;
const AGAIN_MS = 1_000;

export function isBusy(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 503;
}

export function againInMs(error: unknown): number {
  return error instanceof ApiError && error.retryAfterS !== null ? error.retryAfterS * 1000 : AGAIN_MS;
}
