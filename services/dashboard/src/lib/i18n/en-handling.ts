/** What people do about alerts, in English. */

export const handling = {
  acknowledge: "Acknowledge",
  acknowledgeTitle: "Acknowledge this alert?",
  acknowledgeLead: "The others see that you take care of it. It stays open until its cause is over.",
  acknowledged: (who: string, when: string) => `Acknowledged · ${who} · ${when}`,
  acknowledgeDone: "Alert acknowledged",
  note: "Note (optional)",
  noteHint: "For the others. It stays in the log for good: write no personal data.",
  snooze: "Snooze",
  snoozeTitle: "Snooze this alert until…",
  snoozeLead:
    "No notifications about this until then, even if it is resolved and raised again. A critical alert that is still open then is sent again.",
  until: "Until",
  choices: {
    hour: "In 1 hour",
    fourHours: "In 4 hours",
    tomorrow: "Tomorrow at 9:00",
    week: "In 7 days",
    other: "Other time…",
  },
  otherTime: "Date and time",
  badTime: "Choose a time within the next 30 days.",
  snoozed: (until: string) => `Snoozed until ${until}`,
  snoozedBy: (until: string, who: string) => `Snoozed until ${until} · ${who}`,
  snoozeDone: "Alert snoozed",
  endSnooze: "End snooze",
  endSnoozeDone: "Snooze ended",
  gone: "The alert is resolved already.",
};
