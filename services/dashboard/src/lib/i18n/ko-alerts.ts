/** 기기 외 모든 컨텍스트의 알림, 한국어. */
import type { alertKinds as Kinds, alertLinks as Links } from "./en-alerts";

export const alertKinds: typeof Kinds = {
  no_render_worker: {
    title: "실행 중인 렌더 워커 없음",
    advice: "렌더링이 대기 중이지만 가져가는 워커가 없습니다. 렌더 워커를 시작하거나 왜 멈췄는지 확인하세요.",
  },
  nexrender_down: {
    title: "nexrender 응답 없음",
    advice: "nexrender를 다시 시작하거나 네트워크를 확인하세요. 워커는 스스로 이어 가며, 실패한 것은 다시 실행하세요.",
  },
  nexrender_refused: {
    title: "nexrender가 작업을 거부",
    advice: "시크릿과 nexrender의 응답 내용을 확인하세요.",
  },
  template_missing: {
    title: "템플릿 없음",
    advice: "템플릿 폴더에 파일을 넣거나 매핑에서 이름을 고친 뒤 렌더링을 다시 실행하세요.",
  },
  mapping_missing: {
    title: "컴포지션에 매핑된 필드 없음",
    advice: "그릴 내용 중 레이어가 지정된 필드가 없습니다. 레이어를 지정한 뒤 다시 실행하세요.",
  },
  gfx_data_unreadable: {
    title: "렌더링 데이터를 읽을 수 없음",
    advice: "암호화에 쓰인 키가 없거나 형식이 올바르지 않습니다. 암호화 키 설정을 확인하세요.",
  },
  render_failed: {
    title: "렌더링 실패",
    advice: "오류 내용을 확인하고 원인을 해결한 뒤 다시 실행하세요.",
  },
  render_timeout: {
    title: "렌더링 시간 초과",
    advice: "30분씩 세 번 시도했습니다. 렌더링 장비와 컴포지션을 확인하세요.",
  },
  nas_away: {
    title: "NAS에 쓸 수 없음",
    advice: "마운트와 남은 용량을 확인하고, 실패한 것은 다시 실행하세요.",
  },
  render_recovering: {
    title: "렌더링이 워커를 계속 잃음",
    advice: "워커가 세 번 넘게 유실되었습니다. 이 렌더링의 특이점을 확인하거나 취소하세요.",
  },
  render_not_stopped: {
    title: "nexrender 작업을 멈추지 못함",
    advice: "더 이상 시도하지 않습니다. nexrender에서 직접 삭제하세요. 파일은 자동으로 정리됩니다.",
  },
  cleanup_failed: {
    title: "정리 실패",
    advice: "멈춘 테스트가 환불되지 않습니다. 건너뛴 테스트와 서비스를 확인하세요.",
  },
  push_failing: {
    title: "리마인더가 발송되지 않음",
    advice: "연속으로 실패하고 있습니다. 발송 서비스를 확인하세요. 재시도는 자동으로 이루어집니다.",
  },
  minute_crowded: {
    title: "같은 분에 리마인더 두 개",
    advice: "빈 시각을 찾지 못했습니다. 잃어버린 것은 없습니다.",
  },
  refresh_token_reused: {
    title: "세션이 복제되었을 수 있음",
    advice: "갱신 토큰이 두 번 사용되어 세션을 종료했습니다. 당사자에게 다시 로그인하고 비밀번호를 바꾸도록 알리세요.",
  },
};

export const alertLinks: typeof Links = {
  showRender: "렌더링 보기",
  showMapping: "매핑 보기",
  showAnalyses: "분석 보기",
  showReminders: "리마인더 보기",
  showAccount: "계정 보기",
};
