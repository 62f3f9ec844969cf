/** Why something waits, in English. */
import type { ReasonData, Reasons } from "./reasons";

const num = (n: number | undefined) => (n ?? 0).toLocaleString("en");
const count = (n: number | undefined, one: string) => `${num(n)} ${n === 1 ? one : `${one}s`}`;

export const reasons: Reasons = {
  job_behind: (d, n) =>
    `It is behind ${n.job(d.behind)}, which has been active since ${n.time(d.since)}${
      d.preferred
        ? `, and ${count(d.ahead, "job")}, of which ${d.preferred} newer with a higher priority or put first`
        : d.ahead
          ? `, and ${count(d.ahead, "older job")}`
          : ""
    }.`,
  job_paused: (d) =>
    d.poison ? `It is paused: it failed permanently on three phones with ${d.poison}.` : "It is paused.",
  job_inactive: () => "It was created paused. Resume it to put it into the queue.",
  job_scheduled: (d, n) => `It is scheduled for ${n.time(d.not_before)}.`,
  job_active: (d, n) =>
    `It has been active since ${n.time(d.since)}: ${num(d.in_flight)} in flight, ${num(d.completed)} completed, ${num(d.failed)} failed.`,
  job_withdrawing: (d) => `Its pending assignments are being withdrawn: ${num(d.left)} left.`,
  job_given_up: (d) =>
    `${count(d.reported, "phone")} reported ${(d.rules ?? []).join(" or ")}. It ends for all phones when ${count(
      d.needed,
      "phone",
    )} report this under their own keys or with their runs: so far ${num(d.counted)}.`,
  look_under_way: (d) => `Drover is looking for phones: ${num(d.seen)} of ${count(d.total, "PC")} checked.`,
  // Also said of a phone, so it names the job.
  job_has_its_number: (d, n) => `${n.job(d.job_id)} has reached its target of ${count(d.count, "phone")}.`,
  no_device_in_target: () => "No phone matches its target.",
  no_device_capable: (d) => `No phone has ${d.capability ?? ""}, which it needs.`,
  no_device_left: () => "It has been assigned to every phone that can run it.",
  no_device_online: (d) => `No phone that could take it is online: ${hindrances(d)}.`,
  no_device_free: (d) => `No phone can take it now: ${hindrances(d)}.`,
  pc_full: (d) => `PC ${d.pc_id ?? ""} is full: ${d.in_use ?? 0} of ${String(d.target ?? 0)} slots are in use.`,
  pcs_full: (d) => `All ${num(d.pcs)} PCs with a phone for it are full.`,
  job_completed: (d, n) => `It completed at ${n.time(d.ended_at)}.`,
  job_expired: (d, n) =>
    `It expired at ${n.time(d.ended_at)}, 24 hours after ${d.was_scheduled ? "the time it could start at" : "it was created"}.`,
  job_deactivated: (d, n) => `It was deactivated at ${n.time(d.ended_at)}.`,
  job_cancelled: (d, n) => `It was cancelled at ${n.time(d.ended_at)}.`,
  retry_due: (d, n) =>
    `Attempt ${d.attempt ?? ""} of 3 is due ${d.due_at ? `at ${n.time(d.due_at)}` : "as soon as its phone is back"}${
      d.error_code ? `; the previous one failed with ${d.error_code}` : ""
    }.`,
  offer_not_fetched: (d, n) =>
    `${n.device(d.device_id)} has not fetched it yet: offered at ${n.time(d.offered_at)}, expires at ${n.time(d.until)}.`,
  sent_not_begun: (d, n) =>
    `${n.device(d.device_id)} has fetched it but not started it: expires at ${n.time(d.until)}.`,
  running: (d, n) =>
    `Attempt ${d.attempt ?? ""} of 3 has been running on ${n.device(d.device_id)} since ${n.time(d.started_at)}: now at ${d.progress_pct ?? 0} %.`,
  ad_playing: () => "Its progress is paused while an ad plays.",
  assignment_completed: (d) => `It completed on attempt ${(d.failed_attempts ?? 0) + 1}.`,
  assignment_failed: (d) => `It failed permanently after ${count(d.failed_attempts, "attempt")}.`,
  assignment_cancelled: () => "It was cancelled.",
  device_error: (d, n) => `It is in error (${d.rule ?? ""}) ${ending(d, n.time(d.until))}.`,
  device_offline: () => "It is offline: no heartbeat for 30 seconds.",
  device_held: (d, n) => `It did not fetch ${count(d.untaken, "offer")}: the next one comes at ${n.time(d.until)}.`,
  pc_held: (d, n) => `PC ${d.pc_id ?? ""} is held until ${n.time(d.until)}: all its phones were failing.`,
  device_in_flight: (d, n) =>
    `It is working on ${n.job(d.job_id)}${d.phase === "running" ? `, at ${d.progress_pct ?? 0} %` : ""}.`,
  capability_missing: (d, n) => `It lacks ${(d.capabilities ?? []).join(", ")}, which ${n.job(d.job_id)} needs.`,
  not_in_target: (d, n) => `The active job, ${n.job(d.job_id)}, does not target it.`,
  job_ran_here: (d, n) => `The active job, ${n.job(d.job_id)}, has already finished on it.`,
  no_job: (d, n) =>
    d.waiting
      ? `No job is active: ${count(d.waiting, "job")} in the queue, but no phone can take one now.`
      : d.scheduled
        ? `There is no work now: ${count(d.scheduled, "job")} scheduled, the next for ${n.time(d.next_at)}.`
        : "There is no work: no job is active or waiting.",
  nothing: () => "Nothing blocks it: it is next.",
};

function hindrances(d: ReasonData): string {
  const parts: [number | undefined, string][] = [
    [d.offline, "offline"],
    [d.in_error, "in error"],
    [d.held, "held"],
    [d.on_held_pc, "on a held PC"],
    [d.in_flight, "busy with other work"],
  ];
  return parts.flatMap(([n, words]) => (n ? [`${n.toLocaleString("en")} ${words}`] : [])).join(", ");
}

function ending(d: ReasonData, until: string): string {
  if (d.until) return `until ${until}`;
  if (d.condition === "screen_locked") return "until its screen is unlocked";
  if (d.condition === "battery_low") return "until it is charged";
  return "until it is reset";
}
