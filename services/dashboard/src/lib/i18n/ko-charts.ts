/** Charts, in Korean. */
import type { charts as en } from "./en-charts";

export const charts: typeof en = {
  range: "차트 기간",
  ranges: { "15m": "15분", "1h": "1시간", "6h": "6시간", "24h": "24시간", "7d": "7일", "30d": "30일" },
  over: {
    "15m": "최근 15분",
    "1h": "최근 1시간",
    "6h": "최근 6시간",
    "24h": "최근 24시간",
    "7d": "최근 7일",
    "30d": "최근 30일",
  },
  noData: "기록 없음",
  gap: "기록 없음",
  restart: "재시작",
  restartAt: (time) => `${time} 재시작`,
  throughputLabel: (over) => `${over} 동안 완료, 실패, 끊긴 시도 수(분당)`,
  pickupLabel: (over) => `${over} 동안 배정에서 시작까지 걸린 시간`,
  phones: "기기",
  phonesLabel: (over) => `${over} 동안 상태별 기기 수`,
  lagLabel: (over) => `${over} 동안 조회 모델이 로그보다 가장 늦은 정도`,
  delayLabel: (since) => `${since}부터 기록에서 이 화면까지 가장 오래 걸린 시간`,
  sincePage: (since) => `${since}부터 이 화면에서 측정`,
  keys: "차트에 초점을 두고 화살표 키로 값을 읽을 수 있습니다.",
};
