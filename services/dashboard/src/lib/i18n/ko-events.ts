/** Searching events: time, names, export, in Korean. */
import type { searches as en } from "./en-events";

export const searches: typeof en = {
  time: "기간",
  anyTime: "전체 기간",
  lasts: {
    "15m": "최근 15분",
    "1h": "최근 1시간",
    "24h": "최근 24시간",
    "7d": "최근 7일",
    "30d": "최근 30일",
  },
  between: "직접 지정…",
  from: "시작",
  to: "끝",
  backwards: "끝이 시작보다 앞섭니다.",
  type: "유형",
  saved: "저장된 검색",
  savedLead: "검색은 이 브라우저에 저장됩니다. 다른 사람에게 전달하려면 링크를 복사하세요.",
  none: "저장된 검색이 없습니다.",
  name: "이름",
  nameHint: "예: “지난밤 실패”",
  save: "이 검색 저장",
  full: (n) => `검색은 ${n}개까지 저장할 수 있습니다. 먼저 하나를 삭제하세요.`,
  open: (name) => `“${name}” 열기`,
  remove: (name) => `“${name}” 삭제`,
  copyLink: (name) => `“${name}” 링크 복사`,
  copied: "링크를 복사했습니다",
};
