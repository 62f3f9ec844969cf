/** 렌더, 분석, 리마인더가 왜 지금 상태인지에 대한 한국어 문구. */
import type { why as english } from "./en-why";
import type { WorkReasons } from "./work-reasons";

const num = (n: number | undefined) => (n ?? 0).toLocaleString("ko");

const WHO: Record<string, string> = {
  worker: "워커가 실패를 보고했습니다",
  timeout: "제시간에 끝나지 않아 정리 작업이 실패로 처리했습니다",
  caller: "프로그램이 실패로 기록했습니다",
};

const workReasons: WorkReasons = {
  render_alert: (d) => `열린 알림이 있습니다: ${d.message ?? d.kind ?? ""}`,
  no_render_worker: (d) =>
    d.gone
      ? `실행 중인 렌더 워커가 없습니다. 워커 ${num(d.gone)}대가 30초 동안 응답하지 않았습니다.`
      : "실행 중인 렌더 워커가 없습니다.",
  render_workers_busy: (d) => `렌더 워커 ${num(d.workers)}대가 모두 작업 중입니다.`,
  renders_ahead: (d) => `먼저 요청된 렌더 ${num(d.ahead)}건${d.is_more ? " 이상" : ""}이 앞에 있습니다.`,
  render_next: () => "막는 것이 없습니다. 쉬고 있는 워커가 곧 가져갑니다.",
  render_retry: (d, n) => `지난 시도가 실패했습니다: ${n.fault(d.error_code)}. ${n.time(d.due_at)}에 다시 시도합니다.`,
  render_worker_gone: (d, n) =>
    `워커 ${d.worker_id ?? ""}이(가) 응답하지 않습니다. ${n.time(d.until)}에 임대가 끝나면 다른 워커가 가져갑니다.`,
  render_slow: (d, n) =>
    `${n.stage(d.stage)} 단계가 평소보다 오래 걸립니다: 현재 ${num(d.seconds)}초, 보통 ${num(d.usual)}초 이내.`,
  render_working: (d, n) =>
    `${n.time(d.since)}부터 워커 ${d.worker_id ?? ""}에서 ${n.stage(d.stage)}: 현재 ${num(d.progress_pct)} %.`,
  render_completed: (d, n) => `${n.time(d.ended_at)}에 완료되었습니다.`,
  render_cancelled: (d, n) => `${n.time(d.ended_at)}에 취소되었습니다.`,
  render_failed: (d, n) =>
    `${n.time(d.ended_at)}에 실패했습니다: ${n.fault(d.error_code)}${d.message ? ` (${d.message})` : ""}.`,
  test_running: (d, n) => `${n.time(d.since)}부터 실행 중이며, 아직 결과를 보고한 워커가 없습니다.`,
  test_no_cleanup: () => "아직 정리 작업이 실행된 적이 없어, 워커를 잃으면 이 분석을 끝낼 방법이 없습니다.",
  test_may_take: (d, n) =>
    `${n.time(d.until)}까지 끝나지 않으면 다음 정리 작업이 실패로 처리하고 사용자에게 환불합니다.`,
  test_skipped: (d) => `지난 정리 작업이 환불하지 못했습니다(${d.rule ?? ""}). 다음 정리 작업이 다시 시도합니다.`,
  test_overdue: (d, n) =>
    `${n.time(d.until)}에 제한 시간이 지났습니다. 다음 정리 작업이 실패로 처리하고 사용자에게 환불합니다.`,
  test_completed: (d, n) => `${n.time(d.ended_at)}에 완료되었습니다.`,
  test_failed: (d, n) =>
    `${WHO[d.rule ?? ""] ?? "실패했습니다"} (${n.time(d.ended_at)}${d.error_code ? `, ${d.error_code}` : ""})${
      d.message ? `: ${d.message}` : ""
    }.`,
  test_refunded: () => "사용자가 횟수를 돌려받았습니다.",
  test_not_refunded: (d) => `사용자가 횟수를 돌려받지 못했습니다${d.rule ? `(${d.rule})` : ""}.`,
  test_late_report: (d) => `끝난 뒤에 워커가 ${d.reported ?? ""}을(를) 보고했지만 아무것도 바뀌지 않았습니다.`,
  alarm_alert: (d) => `열린 알림이 있습니다: ${d.message ?? d.kind ?? ""}`,
  alarm_sending: (d, n) =>
    `${n.time(d.since)}부터 발송 중입니다${d.due_at ? `. 결과가 없으면 ${n.time(d.due_at)}에 다시 보냅니다` : ""}.`,
  alarm_unknown: (d, n) => `지난 발송의 결과를 알 수 없습니다. ${n.time(d.due_at)}에 다시 보냅니다.`,
  alarm_retry: (d, n) =>
    `발송이 ${num(d.attempt)}번 실패했습니다${d.error_code ? `(${n.fault(d.error_code)})` : ""}. 다음 시도는 ${n.time(d.due_at)}입니다.`,
  alarm_upcoming: (d, n) => `${n.time(d.due_at)}이(가) 되어야 보냅니다.`,
  alarm_due: (d, n) => `${n.time(d.due_at)}에 보낼 시각이 되었습니다. 발송기가 곧 가져갑니다.`,
  alarm_shifted: (d) => `요청한 분에 이미 다른 리마인더가 있어 ${num(d.minutes)}분 늦춰졌습니다.`,
  alarm_sent: (d, n) => `마지막 발송은 ${n.time(d.sent_at)}입니다. 보낼 때마다 간격이 두 배가 됩니다.`,
};

export const why: typeof english = { title: "왜?", workReasons };
