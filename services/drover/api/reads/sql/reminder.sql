-- What is read of reminders.

-- name: reminders
SELECT a.user_id, a.page_id, a.title, a.next_alarm_time, u.timezone,
       CASE
         WHEN a.processed_at IS NOT NULL THEN 'in_hand'
         WHEN coalesce(a.retry_at, a.next_alarm_time) > now() THEN 'upcoming'
         ELSE 'due'
       END AS state,
       a.sent_count, a.attempt, a.shift_min, a.processed_at, a.recover_at, a.retry_at, a.last_error,
       a.last_notification_id, a.last_sent_at, a.created_at, a.updated_at
FROM {page}
LEFT JOIN LATERAL (SELECT timezone FROM rm_reminder.user_rows WHERE user_id = a.user_id LIMIT 1) AS u ON TRUE

-- name: reminder_body
SELECT body FROM rm_reminder.alarm_rows WHERE user_id = $1 AND page_id = $2

-- name: reminder_events
SELECT h.id, h.page_id, h.user_id, h.sent_count, h.attempt, h.idempotency_key, h.event_type, h.level, h.error_code,
       h.message, h.due_at, h.notification_id, h.by, h.created_at
FROM {page}
