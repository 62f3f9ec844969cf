/** Why something waits, in Korean. */
import type { ReasonData, Reasons } from "./reasons";

const num = (n: number | undefined) => (n ?? 0).toLocaleString("ko");

export const reasons: Reasons = {
  job_behind: (d, n) =>
    `${n.time(d.since)}부터 진행 중인 ‘${n.job(d.behind)}’ 작업${
      d.preferred
        ? `과 대기열의 작업 ${num(d.ahead)}건(그중 우선순위가 높거나 먼저 실행하도록 지정된 새 작업 ${num(d.preferred)}건)`
        : d.ahead
          ? `과 먼저 등록된 작업 ${num(d.ahead)}건`
          : ""
    }이 앞에 있습니다.`,
  job_paused: (d) =>
    d.poison ? `일시정지됨: 기기 3대에서 ${d.poison}(으)로 최종 실패했습니다.` : "일시정지되어 있습니다.",
  job_inactive: () => "비활성 상태로 등록되었습니다. 재개하면 대기열에 들어갑니다.",
  job_scheduled: (d, n) => `${n.time(d.not_before)}에 시작하도록 예약되어 있습니다.`,
  job_active: (d, n) =>
    `${n.time(d.since)}부터 진행 중: 처리 중 ${num(d.in_flight)}, 완료 ${num(d.completed)}, 실패 ${num(d.failed)}.`,
  job_withdrawing: (d) => `배정했던 것을 회수하는 중입니다: ${num(d.left)}건 남음.`,
  job_given_up: (d) =>
    `기기 ${num(d.reported)}대가 ${(d.rules ?? []).join(" 또는 ")} 오류를 보고했습니다. 자체 키나 실행 번호로 확인된 기기가 ${num(d.needed)}대가 되면 전체 작업을 종료합니다(현재 ${num(d.counted)}대).`,
  look_under_way: (d) => `기기를 찾는 중입니다: PC ${num(d.total)}대 중 ${num(d.seen)}대 확인.`,
  job_has_its_number: (d, n) => `‘${n.job(d.job_id)}’ 작업은 목표한 기기 ${num(d.count)}대에 모두 배정되었습니다.`,
  no_device_in_target: () => "대상이 되는 기기가 없습니다.",
  no_device_capable: (d) => `필요한 기능 ${d.capability ?? ""}을(를) 가진 기기가 없습니다.`,
  no_device_left: () => "받을 수 있는 모든 기기에 이미 배정되었습니다.",
  no_device_online: (d) => `이 작업을 받을 수 있는 기기 중 온라인인 기기가 없습니다: ${hindrances(d)}.`,
  no_device_free: (d) => `지금 받을 수 있는 기기가 없습니다: ${hindrances(d)}.`,
  pc_full: (d) =>
    `PC ${d.pc_id ?? ""}의 슬롯이 가득 찼습니다: ${String(d.target ?? 0)}개 중 ${num(d.in_use)}개 사용 중.`,
  pcs_full: (d) => `대상 기기가 있는 PC ${num(d.pcs)}대가 모두 가득 찼습니다.`,
  job_completed: (d, n) => `${n.time(d.ended_at)}에 완료되었습니다.`,
  job_expired: (d, n) =>
    `${d.was_scheduled ? "시작 가능 시각부터" : "등록 후"} 24시간이 지나 ${n.time(d.ended_at)}에 만료되었습니다.`,
  job_deactivated: (d, n) => `${n.time(d.ended_at)}에 비활성화되었습니다.`,
  job_cancelled: (d, n) => `${n.time(d.ended_at)}에 취소되었습니다.`,
  retry_due: (d, n) =>
    `${num(d.attempt)}/3회차 시도 예정: ${d.due_at ? n.time(d.due_at) : "기기가 돌아오는 즉시"}${
      d.error_code ? ` (직전 실패: ${d.error_code})` : ""
    }.`,
  offer_not_fetched: (d, n) =>
    `${n.device(d.device_id)}이(가) 아직 가져가지 않았습니다: ${n.time(d.offered_at)} 배정, ${n.time(d.until)} 회수 예정.`,
  sent_not_begun: (d, n) =>
    `${n.device(d.device_id)}이(가) 가져갔지만 시작하지 않았습니다: ${n.time(d.until)} 회수 예정.`,
  running: (d, n) =>
    `${n.device(d.device_id)}에서 ${n.time(d.started_at)}부터 ${num(d.attempt)}/3회차 실행 중, ${num(d.progress_pct)}%.`,
  ad_playing: () => "광고 재생으로 진행이 멈춰 있습니다.",
  assignment_completed: (d) => `${num((d.failed_attempts ?? 0) + 1)}회차에 완료되었습니다.`,
  assignment_failed: (d) => `${num(d.failed_attempts)}회 시도 후 최종 실패했습니다.`,
  assignment_cancelled: () => "취소되었습니다.",
  device_error: (d, n) => `오류 상태입니다(${d.rule ?? ""}). ${ending(d, n.time(d.until))}.`,
  device_offline: () => "오프라인입니다: 30초 이상 신호가 없습니다.",
  device_held: (d, n) => `배정을 ${num(d.untaken)}번 가져가지 않았습니다: ${n.time(d.until)}에 다시 배정합니다.`,
  pc_held: (d, n) => `PC ${d.pc_id ?? ""}은(는) 모든 기기가 실패하여 ${n.time(d.until)}까지 보류 중입니다.`,
  device_in_flight: (d, n) =>
    `‘${n.job(d.job_id)}’ 작업을 처리 중입니다${d.phase === "running" ? ` (${num(d.progress_pct)}%)` : ""}.`,
  capability_missing: (d, n) => `‘${n.job(d.job_id)}’에 필요한 ${(d.capabilities ?? []).join(", ")} 기능이 없습니다.`,
  not_in_target: (d, n) => `진행 중인 ‘${n.job(d.job_id)}’ 작업의 대상이 아닙니다.`,
  job_ran_here: (d, n) => `진행 중인 ‘${n.job(d.job_id)}’ 작업은 이 기기에서 이미 끝났습니다.`,
  no_job: (d, n) =>
    d.waiting
      ? `진행 중인 작업이 없습니다: 대기 중인 ${num(d.waiting)}건 모두 지금 받을 수 있는 기기가 없습니다.`
      : d.scheduled
        ? `지금은 할 일이 없습니다: 예약된 작업 ${num(d.scheduled)}건, 다음 시작 ${n.time(d.next_at)}.`
        : "할 일이 없습니다: 진행 중이거나 대기 중인 작업이 없습니다.",
  nothing: () => "막는 것이 없습니다: 다음 차례입니다.",
};

function hindrances(d: ReasonData): string {
  const parts: [number | undefined, string][] = [
    [d.offline, "오프라인"],
    [d.in_error, "오류"],
    [d.held, "보류"],
    [d.on_held_pc, "보류된 PC"],
    [d.in_flight, "다른 작업 처리 중"],
  ];
  return parts.flatMap(([n, words]) => (n ? [`${words} ${num(n)}대`] : [])).join(", ");
}

function ending(d: ReasonData, until: string): string {
  if (d.until) return `${until}까지`;
  if (d.condition === "screen_locked") return "화면 잠금이 해제될 때까지";
  if (d.condition === "battery_low") return "충전될 때까지";
  return "누군가 초기화할 때까지";
}
