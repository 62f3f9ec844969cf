/** Rows of reminders as `/rest/v1` answers them, column by column. */

export interface AlarmRow {
  readonly page_id: string;
  readonly user_id: string;
  readonly title: string;
  readonly body: string;
  readonly next_alarm_time: string;
  readonly sent_count: number;
  readonly last_notification_id: string | null;
  /** Set while somebody sends it, or while nobody knows what became of that. */
  readonly processed_at: string | null;
  readonly recover_at: string | null;
  readonly retry_at: string | null;
  readonly attempt: number;
  readonly shift_min: number;
  readonly last_error: string | null;
  readonly last_sent_at: string | null;
  readonly created_at: string;
  readonly user_info: { readonly timezone: string } | null;
}

export const ALARM_COLUMNS = "*,user_info(timezone)";

export const ALARM_EVENT_TYPES = [
  "REGISTERED",
  "RENEWED",
  "SCHEDULED",
  "SKIPPED",
  "CROWDED",
  "DELETED",
  "DISPATCHED",
  "SENT",
  "FAILED",
  "UNKNOWN",
] as const;
export type AlarmEventType = (typeof ALARM_EVENT_TYPES)[number];

export interface AlarmEventRow {
  readonly id: number;
  readonly page_id: string;
  readonly user_id: string;
  readonly sent_count: number | null;
  readonly attempt: number | null;
  readonly event_type: AlarmEventType;
  readonly error_code: string | null;
  readonly message: string | null;
  readonly due_at: string | null;
  readonly notification_id: string | null;
  readonly by: string;
  readonly created_at: string;
}

export interface UserInfoRow {
  readonly user_id: string;
  readonly timezone: string;
}

export interface SubscriptionRow {
  readonly id: string;
  readonly channel: string;
  readonly created_at: string;
  readonly ended_at: string | null;
  readonly reason: string | null;
}
