/** 사용자와 렌더 데이터 영구 삭제, 한국어. */
import type { erase as English } from "./en-erase";

export const erase: typeof English = {
  open: "영구 삭제…",
  forEver: "되돌릴 수 없습니다.",
  users: {
    title: "이 사용자를 영구 삭제할까요?",
    lead: "이 사용자의 리마인더가 삭제됩니다. 리마인더 내용, 푸시 구독 정보, 이메일 및 IP 주소는 백업에서도 더 이상 읽을 수 없습니다. 이곳에 계정이 있으면 계정도 삭제됩니다.",
    yes: "사용자 영구 삭제",
    done: (name: string) => `${name} 사용자를 영구 삭제했습니다.`,
  },
  renders: {
    title: "이 렌더의 요청 내용을 영구 삭제할까요?",
    lead: "요청 내용은 백업에서도 더 이상 읽을 수 없습니다. 렌더링된 파일은 남으므로 NAS에서 직접 지우세요.",
    yes: "요청 내용 영구 삭제",
    done: (name: string) => `${name}의 요청 내용을 영구 삭제했습니다.`,
  },
};
