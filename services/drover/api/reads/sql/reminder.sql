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

-- name: reminder_open_alerts
SELECT kind, message
FROM rm_reminder.alert_rows
WHERE resolved_at IS NULL AND subject = ANY ($1::text[])
ORDER BY raised_at DESC
LIMIT $2

-- name: last_reminder_event
SELECT event_type
FROM rm_reminder.alarms_event
WHERE page_id = $2 AND user_id = $1
ORDER BY created_at DESC, id DESC
LIMIT 1
