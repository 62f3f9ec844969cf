/** Events of the render queue as the stream tells them. Those that change no row are known by their envelope alone. */
import type { Envelope } from "./events";

interface OfRender extends Envelope {
  readonly render_id: number;
}

interface OfRun extends OfRender {
  readonly run: number;
  readonly worker_id: string;
}

export interface RenderEvents {
  RenderRequested: OfRender & {
    readonly composition_id: string;
    readonly composition: string;
    readonly cue_item_id: string | null;
    readonly broadcast_date: string;
  };
  RenderClaimed: OfRun & { readonly lease_until: string };
  LeaseRenewed: OfRun & { readonly lease_until: string };
  RenderSubmitted: OfRun & { readonly nexrender_job_id: string };
  RenderProgressed: OfRun & { readonly progress: number };
  EncodingStarted: OfRun & { readonly progress: number };
  UploadStarted: OfRun;
  FieldsUnmapped: OfRun & { readonly fields: readonly string[] };
  RetryScheduled: OfRun & {
    readonly fault: string;
    readonly number: number;
    readonly due_at: string;
    readonly message: string;
  };
  RenderRequeued: OfRender & {
    readonly run: number;
    readonly reason: string;
    readonly message: string;
    readonly recovery_count: number;
  };
  RenderCompleted: OfRun;
  RenderFailed: OfRender;
  RenderCancelled: OfRender;
}

export type RenderEventType = keyof RenderEvents;
