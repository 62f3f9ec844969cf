/** Why a render, a test or a reminder stands where it does, in English. */
import type { WorkReasons } from "./work-reasons";

const count = (n: number | undefined, one: string) => `${(n ?? 0).toLocaleString("en")} ${n === 1 ? one : `${one}s`}`;

const WHO: Record<string, string> = {
  worker: "Its worker reported the failure",
  timeout: "It was not finished in time, and a cleanup failed it",
  caller: "A program wrote that it failed",
};

const workReasons: WorkReasons = {
  render_alert: (d) => `There is an open alert: ${(d.message ?? d.kind ?? "").replace(/\.$/, "")}.`,
  no_render_worker: (d) =>
    d.gone
      ? `No render worker is running. ${count(d.gone, "worker")} sent no sign of life for 30 s.`
      : "No render worker is running.",
  render_workers_busy: (d) =>
    d.workers === 1 ? "The only render worker is busy." : `All ${d.workers ?? 0} render workers are busy.`,
  renders_ahead: (d) =>
    `${count(d.ahead, "render")}${d.is_more ? " or more" : ""} requested earlier ${d.ahead === 1 ? "is" : "are"} ahead of it.`,
  render_next: () => "Nothing blocks it: an idle worker takes it within seconds.",
  render_retry: (d, n) => `Its last try failed: ${n.fault(d.error_code)}. It is tried again at ${n.time(d.due_at)}.`,
  render_worker_gone: (d, n) =>
    `Its worker ${d.worker_id ?? ""} sends no sign of life. Another worker takes it when the lease expires at ${n.time(d.until)}.`,
  render_slow: (d, n) =>
    `${n.stage(d.stage)} takes longer than usual: ${d.seconds ?? 0} s so far, usually at most ${d.usual ?? 0} s.`,
  render_working: (d, n) =>
    `${n.stage(d.stage)} on worker ${d.worker_id ?? ""} since ${n.time(d.since)}: now at ${d.progress_pct ?? 0} %.`,
  render_completed: (d, n) => `It completed at ${n.time(d.ended_at)}.`,
  render_cancelled: (d, n) => `It was cancelled at ${n.time(d.ended_at)}.`,
  render_failed: (d, n) =>
    `It failed at ${n.time(d.ended_at)}: ${n.fault(d.error_code)}${d.message ? ` (${d.message})` : ""}.`,
  test_running: (d, n) => `It has been running since ${n.time(d.since)}; no worker has reported its result yet.`,
  test_no_cleanup: () => "No cleanup has run yet, so nothing ends it if its worker is lost.",
  test_may_take: (d, n) =>
    `If it is not finished by ${n.time(d.until)}, the next cleanup fails it and refunds its user.`,
  test_skipped: (d) => `The last cleanup could not refund it (${d.rule ?? ""}). The next one tries again.`,
  test_overdue: (d, n) =>
    `It has been overdue since ${n.time(d.until)}: the next cleanup fails it and refunds its user.`,
  test_completed: (d, n) => `It completed at ${n.time(d.ended_at)}.`,
  test_failed: (d, n) =>
    `${WHO[d.rule ?? ""] ?? "It failed"} at ${n.time(d.ended_at)}${d.error_code ? ` (${d.error_code})` : ""}${
      d.message ? `: ${d.message}` : ""
    }.`,
  test_refunded: () => "Its user got the test back.",
  test_not_refunded: (d) => `Its user did not get the test back${d.rule ? ` (${d.rule})` : ""}.`,
  test_late_report: (d) => `A worker reported ${d.reported ?? ""} after its end. That changed nothing.`,
  alarm_alert: (d) => `There is an open alert: ${(d.message ?? d.kind ?? "").replace(/\.$/, "")}.`,
  alarm_sending: (d, n) =>
    `It has been with its sender since ${n.time(d.since)}${d.due_at ? `. Without an outcome it is sent again at ${n.time(d.due_at)}` : ""}.`,
  alarm_unknown: (d, n) => `The outcome of the last sending is unknown. It is sent again at ${n.time(d.due_at)}.`,
  alarm_retry: (d, n) =>
    `Sending failed ${count(d.attempt, "time")}${d.error_code ? ` (${n.fault(d.error_code)})` : ""}. The next try is at ${n.time(d.due_at)}.`,
  alarm_upcoming: (d, n) => `It is not due before ${n.time(d.due_at)}.`,
  alarm_due: (d, n) => `It has been due since ${n.time(d.due_at)}: a sender takes it within seconds.`,
  alarm_shifted: (d) => `It is ${count(d.minutes, "minute")} later than requested, because that minute was taken.`,
  alarm_sent: (d, n) => `It was last sent at ${n.time(d.sent_at)}. The pause doubles after each sending.`,
};

export const why = { title: "Why?", workReasons };
