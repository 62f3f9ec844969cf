-- What clients see of reminders, by the names that they know.
CREATE VIEW alarm AS
SELECT page_id, user_id, title, body, next_alarm_time, sent_count, last_notification_id, processed_at, recover_at,
       retry_at, attempt, shift_min, last_error, last_sent_at, created_at, updated_at
FROM alarm_rows;

CREATE VIEW user_info AS
SELECT user_id, timezone, created_at, updated_at
FROM user_rows;

CREATE VIEW push_subscriptions AS
SELECT id, user_id, channel, created_at, updated_at, ended_at, reason
FROM subscription_rows;
