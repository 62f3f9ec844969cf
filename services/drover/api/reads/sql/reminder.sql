-- Queries on reminders.

-- name: reminders
SELECT {columns}, a.title, u.timezone,
       CASE
         WHEN a.processed_at IS NOT NULL THEN 'in_hand'
         WHEN coalesce(a.retry_at, a.next_alarm_time) > now() THEN 'upcoming'
         ELSE 'due'
       END AS state
FROM {page}
LEFT JOIN LATERAL (SELECT timezone FROM rm_reminder.user_rows WHERE user_id = a.user_id LIMIT 1) AS u ON TRUE

-- name: reminder_body
SELECT body FROM rm_reminder.alarm_rows WHERE user_id = $1 AND page_id = $2

-- name: reminder_events
SELECT {columns}
FROM {page}
