/** 실패 증거(화면 캡처, 액티비티 스택)의 한국어 문구. */
import type { evidence as english } from "./en-evidence";

export const evidence: typeof english = {
  show: "화면 캡처 보기",
  showHint: "화면 캡처를 보면 감사 기록에 남습니다.",
  loading: "화면 캡처를 불러오는 중…",
  alt: (serial: string) => `${serial}이(가) 실패했을 때의 화면`,
  title: "화면 캡처",
  enlarge: "화면 캡처 크게 보기",
  gone: "화면 캡처가 삭제되었습니다. 화면 캡처는 정해진 기간 동안만 보관됩니다.",
  notConfigured: "이 서버는 화면 캡처를 보관하지 않습니다(DROVER_EVIDENCE가 설정되지 않음).",
  broken: "화면 캡처를 표시할 수 없습니다.",
  elsewhere: "다른 주소에 있는 화면 캡처",
  reference: "화면 캡처 참조",
  stack: "액티비티 스택",
  erase: "화면 캡처 삭제",
  eraseTitle: "이 실행의 화면 캡처를 삭제할까요?",
  eraseLead: "이 배정의 화면 캡처가 모두 삭제됩니다. 되돌릴 수 없습니다.",
  keep: "유지",
  erased: (count: number) => `화면 캡처 ${count}개를 삭제했습니다`,
};
