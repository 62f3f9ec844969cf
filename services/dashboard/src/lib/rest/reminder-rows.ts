/** Rows of reminders as `/rest/v1` answers them, from the published contract. */
import type { RestAlarm, RestAlarmsEvent, RestPushSubscriptions, RestUserInfo } from "../api/schema";
import type { Row } from "./shape";

export type AlarmRow = Omit<Row<RestAlarm>, "updated_at"> & {
  readonly user_info: { readonly timezone: string } | null;
};

export const ALARM_COLUMNS = "*,user_info(timezone)";

export type AlarmEventRow = Omit<Row<RestAlarmsEvent>, "idempotency_key" | "level">;
export type AlarmEventType = AlarmEventRow["event_type"];

export type UserInfoRow = Pick<Row<RestUserInfo>, "user_id" | "timezone">;

export type SubscriptionRow = Omit<Row<RestPushSubscriptions>, "user_id" | "updated_at">;
