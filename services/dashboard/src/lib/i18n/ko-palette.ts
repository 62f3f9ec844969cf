/** The palette: what the server finds, in Korean. */
import type { find as en } from "./en-palette";

export const find: typeof en = {
  endedJobs: "지난 작업",
  renders: "렌더링",
  users: "사용자",
  events: "이벤트",
  searches: "저장된 검색",
  searching: "검색하는 중…",
  unreachable: "서버에서 검색하지 못했습니다. 이 화면이 아는 것만 표시합니다.",
  eventsOfType: (type) => `이벤트: ${type}`,
  eventsAbout: (id) => `${id} 관련 이벤트 모두`,
  frozen: "동결됨",
  render: (id) => `#${id}`,
  charts: (range) => `차트: ${range}`,
};
