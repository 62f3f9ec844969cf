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

/** The server computes the moment in the background, because many events lie between it and the last saved state. */
export class StillComputing extends Error {
  override readonly name = "StillComputing";

  constructor(readonly progress: Schema.MomentProgress) {
    super("The moment is being computed");
  }

  /** From 0 to 1; null while the server does not know how much there is to do. */
  get share(): number | null {
    const { done, of } = this.progress;
    return of === 0 ? null : Math.min(1, done / of);
  }
}

/** Rejects with `StillComputing` while the server computes it: ask again. */
export async function readMoment<C extends keyof Moments>(
  server: Server,
  context: C,
  iso: string,
  signal: AbortSignal,
): Promise<Moments[C]> {
  const answer = await server.request(`/api/moments/${context}?as_of=${encodeURIComponent(iso)}`, { signal });
  if (answer.status === 202) throw new StillComputing((await answer.json()) as Schema.MomentProgress);
  return (await answer.json()) as Moments[C];
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
