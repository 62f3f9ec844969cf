/** The fleet's events as the stream tells them. Those that no screen folds are known by their envelope alone. */
import type { JobFields } from "../rest/rows";

export interface Envelope {
  readonly type: string;
  readonly at: string;
  readonly by: string;
  readonly cause: string;
  readonly n: number;
}

interface OfPc extends Envelope {
  readonly pc_id: string;
}

interface OfDevice extends Envelope {
  readonly device_id: string;
}

export interface OfJob extends Envelope {
  readonly job_id: string;
}

export interface OfAssignment extends Envelope {
  readonly assignment_id: string;
  readonly job_id: string;
  readonly device_id: string;
}

export interface OfAttempt extends OfAssignment {
  readonly run: number;
  readonly attempt: number;
}

export interface FleetEvents {
  PcRegistered: OfPc & { readonly capacity: number };
  PcCapacityChanged: OfPc & { readonly capacity: number };
  PcHeld: OfPc & { readonly until: string };
  PcHoldEnded: OfPc;
  DeviceRegistered: OfDevice & {
    readonly serial_number: string;
    readonly group_id: string;
    readonly pc_id: string;
    readonly capabilities: readonly string[];
  };
  DeviceChanged: OfDevice & {
    readonly group_id: string;
    readonly pc_id: string;
    readonly capabilities: readonly string[];
  };
  DeviceCameOnline: OfDevice;
  DeviceWentOffline: OfDevice & { readonly last_seen: string | null };
  DeviceQuarantined: OfDevice & {
    readonly rule: string;
    readonly until: string | null;
    readonly condition: string | null;
  };
  DeviceReleased: OfDevice;
  DeviceReset: OfDevice;
  DeviceHeld: OfDevice & { readonly until: string };
  DeviceHoldEnded: OfDevice;
  JobCreated: OfJob & JobFields;
  JobActivated: OfJob;
  JobReturned: OfJob;
  JobPaused: OfJob & { readonly reason: string; readonly rule: string | null };
  JobResumed: OfJob;
  JobDeactivated: OfJob & { readonly rule: string | null };
  JobCancelled: OfJob;
  JobExpired: OfJob;
  JobCompleted: OfJob & { readonly skipped: number };
  JobNeedAdded: OfJob & { readonly capability: string };
  AssignmentRequested: OfAssignment;
  AssignmentReopened: OfAssignment;
  AssignmentParked: OfAssignment;
  AssignmentCancelled: OfAssignment & { readonly reason: string };
  AttemptCreated: OfAttempt & { readonly pc_id: string };
  AttemptSent: OfAttempt & { readonly timeout_at: string };
  AttemptStarted: OfAttempt & { readonly progress_pct: number; readonly timeout_at: string };
  AttemptProgressed: OfAttempt & { readonly progress_pct: number; readonly ad_playing: boolean };
  AttemptSucceeded: OfAttempt & { readonly assigned_at: string; readonly started_at: string };
  AttemptFailed: OfAttempt & { readonly code: string; readonly message: string | null };
  AttemptTimedOut: OfAttempt & { readonly message: string };
  AttemptRolledBack: OfAttempt & { readonly reason: string };
  AttemptCancelled: OfAttempt & { readonly reason: string };
  RetryScheduled: OfAttempt & { readonly due: string | null };
  AttemptFailedFinal: OfAttempt & { readonly code: string; readonly message: string | null };
}

export interface AlertEvents {
  AlertRaised: Envelope & {
    readonly alert_id: string;
    readonly kind: string;
    readonly subject: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
    readonly until: string | null;
  };
  AlertResolved: Envelope & { readonly alert_id: string };
}

/** What a rule does with an event of its type. */
export type Rules<Events, Store> = { readonly [Type in keyof Events]: (store: Store, event: Events[Type]) => void };

/** Applies the rule of its type, if there is one. */
export function applyRule<Events, Store>(rules: Rules<Events, Store>, store: Store, event: Envelope): void {
  const rule = (rules as Record<string, ((store: Store, event: never) => void) | undefined>)[event.type];
  rule?.(store, event as never);
}
