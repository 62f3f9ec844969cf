/** 누가 했는지에 대한 한국어 문구. */
import type { actors as english } from "./en-actors";

export const actors: typeof english = {
  you: "나",
  person: (id: string) => `사용자 ${id}`,
  phone: (serial: string) => `기기 ${serial}`,
  session: (id: string) => `세션 ${id}`,
  service: (name: string) => `${name} 서비스`,
  programs: {
    cli: "명령줄",
    clock: "시계",
    service_role: "서비스 키",
    anon: "익명 키",
    up: "drover up",
    presence: "접속 감시",
  },
};
