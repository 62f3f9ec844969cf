/** Moments of the past as `/api/moments` tells them (`services/drover/api/past/questions.py`). They never change. */
import type { Server } from "../rest/read";
import type { RenderStatus } from "../rest/render-rows";
import type { DeviceStatus, JobStatus } from "../rest/rows";
import { ApiError } from "../session/errors";

export interface PastWork {
  readonly assignment_id: string;
  readonly job_id: string;
  readonly status: "pending" | "running";
  readonly run: number;
  readonly attempt: number;
  readonly progress_pct: number;
  readonly started_at: string | null;
}

export interface PastDevice {
  readonly id: string;
  readonly serial_number: string;
  readonly pc_id: string;
  readonly group_id: string;
  readonly status: DeviceStatus;
  readonly error_code: string | null;
  readonly error_until: string | null;
  readonly held_until: string | null;
  readonly work: PastWork | null;
}

export interface PastPc {
  readonly id: string;
  readonly capacity: number;
  readonly held_until: string | null;
  readonly slots_used: number;
}

export interface PastJob {
  readonly id: string;
  readonly title: string | null;
  readonly status: JobStatus;
  readonly created_at: string;
  readonly activated_at: string | null;
  readonly ended_at: string | null;
  readonly in_flight: number;
  readonly waiting: number;
  readonly completed: number;
  readonly failed: number;
}

export interface PastAlert {
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
}

export interface FleetMoment {
  readonly at: string;
  readonly pcs: readonly PastPc[];
  readonly devices: readonly PastDevice[];
  readonly jobs: readonly PastJob[];
  readonly alerts: readonly PastAlert[];
}

export interface PastRender {
  readonly id: number;
  readonly composition_id: string;
  readonly composition_name: string;
  readonly status: RenderStatus;
  readonly worker_id: string | null;
  readonly progress: number;
  readonly run: number;
  readonly recovery_count: number;
  readonly created_at: string;
  readonly started_at: string | null;
}

export interface RenderMoment {
  readonly at: string;
  readonly renders: readonly PastRender[];
  readonly alerts: readonly PastAlert[];
}

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
