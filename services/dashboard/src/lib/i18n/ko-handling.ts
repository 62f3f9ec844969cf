/** 알림 확인과 미루기의 한국어 문구. */
import type { handling as english } from "./en-handling";

export const handling: typeof english = {
  acknowledge: "확인",
  acknowledgeTitle: "이 알림을 확인 처리할까요?",
  acknowledgeLead: "내가 처리하고 있음을 다른 사람들이 알 수 있습니다. 알림은 원인이 사라질 때까지 열려 있습니다.",
  acknowledged: (who: string, when: string) => `확인함 · ${who} · ${when}`,
  acknowledgeDone: "알림을 확인 처리했습니다",
  note: "메모(선택)",
  noteHint: "다른 사람들을 위한 메모입니다. 로그에 영구히 남으므로 개인정보를 쓰지 마세요.",
  snooze: "미루기",
  snoozeTitle: "이 알림을 언제까지 미룰까요?",
  snoozeLead:
    "그때까지는 해결되었다가 다시 발생해도 메시지를 보내지 않습니다. 그때도 열려 있는 심각한 알림은 다시 보냅니다.",
  until: "시점",
  choices: { hour: "1시간 뒤", fourHours: "4시간 뒤", tomorrow: "내일 9:00", week: "7일 뒤", other: "다른 시각…" },
  otherTime: "날짜와 시각",
  badTime: "30일 이내의 시각을 선택하세요.",
  snoozed: (until: string) => `${until}까지 미룸`,
  snoozedBy: (until: string, who: string) => `${until}까지 미룸 · ${who}`,
  snoozeDone: "알림을 미뤘습니다",
  endSnooze: "미루기 끝내기",
  endSnoozeDone: "미루기를 끝냈습니다",
  gone: "이미 해결된 알림입니다.",
};
