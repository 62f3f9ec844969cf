/** How far read models are behind their logs, over the last looks at them. */
import type { PartitionState, System } from "@/lib/api/schema";

/** Looks that are kept: a quarter of an hour. */
export const LOOKS_MAX = 180;
/** Fewer commits are on their way at any moment. */
export const BEHIND_IS_FINE = 50;

export interface Look {
  readonly at: number;
  readonly behind: Readonly<Record<string, number | null>>;
  /** Seconds that the worst of them is behind; null: nobody could tell. */
  readonly lagS: number | null;
}

export function placeOf(partition: Pick<PartitionState, "context" | "partition">): string {
  return partition.partition === "main" ? partition.context : `${partition.context} ${partition.partition}`;
}

export function withLook(looks: readonly Look[], system: Pick<System, "at" | "partitions">): readonly Look[] {
  const at = Date.parse(system.at);
  if (looks.at(-1)?.at === at) return looks;
  const behind = Object.fromEntries(system.partitions.map((one) => [placeOf(one), one.behind]));
  const lags = system.partitions.flatMap((one) => one.lag_s ?? []);
  return [...looks, { at, behind, lagS: lags.length === 0 ? null : Math.max(...lags) }].slice(-LOOKS_MAX);
}

/** The points of a line in a box of 1 by 1, from the left; empty: there are not two looks yet. */
export function pointsOf(looks: readonly Look[], place: string): readonly (readonly [x: number, y: number])[] {
  const values = looks.flatMap((look) => look.behind[place] ?? []);
  if (values.length < 2) return [];
  const most = Math.max(BEHIND_IS_FINE, ...values);
  return values.map((value, index) => [index / (values.length - 1), 1 - value / most]);
}
