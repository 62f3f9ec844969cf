-- Counts by state: everything that has not ended, and what ended within a day.

-- name: count_devices
SELECT rm_fleet.device_status(error_rule, running, alive) AS state, count(*) AS count
FROM rm_fleet.device_rows
GROUP BY state

-- name: count_jobs
SELECT status AS state, count(*) AS count
FROM rm_fleet.job_rows WHERE status IN ('created', 'active', 'paused')
GROUP BY status
UNION ALL
SELECT status, count(*)
FROM rm_fleet.job_rows WHERE ended_at > now() - interval '1 day'
GROUP BY status

-- name: count_assignments
-- The CASE must be the same expression as in the index assignment_rows_task_status.
SELECT phase AS state, count(*) AS count
FROM rm_fleet.assignment_rows
WHERE CASE WHEN phase = 'sent' THEN 'claimed' ELSE status END IN ('pending', 'claimed', 'running')
GROUP BY phase

-- name: count_ended_attempts
SELECT coalesce(sum(succeeded), 0)::bigint AS completed, coalesce(sum(failed_final), 0)::bigint AS failed
FROM rm_fleet.attempt_minutes WHERE minute > now() - interval '1 day'

-- name: count_renders
SELECT status AS state, count(*) AS count
FROM rm_render.render_rows WHERE status IN ('pending', 'preparing', 'rendering', 'encoding', 'uploading')
GROUP BY status
UNION ALL
SELECT status_to, count(*)
FROM rm_render.render_queue_audit
WHERE changed_at > now() - interval '1 day' AND status_to IN ('completed', 'failed', 'cancelled')
GROUP BY status_to

-- name: count_analyses
SELECT status AS state, count(*) AS count
FROM rm_analysis.test_rows WHERE status = 'processing'
GROUP BY status
UNION ALL
SELECT status, count(*)
FROM rm_analysis.test_rows WHERE completed_at > now() - interval '1 day'
GROUP BY status

-- name: count_alarms
-- There may be a million alarms, so those of the next day are counted up to a bound.
SELECT 'due' AS state, count(*) AS count
FROM rm_reminder.alarm_rows WHERE next_alarm_time <= now() AND processed_at IS NULL
UNION ALL
SELECT 'in_hand', count(*) FROM rm_reminder.alarm_rows WHERE processed_at IS NOT NULL
UNION ALL
SELECT 'failing', count(*) FROM rm_reminder.alarm_rows WHERE last_error IS NOT NULL
UNION ALL
SELECT 'next_day', count(*)
FROM (
  SELECT 1 FROM rm_reminder.alarm_rows
  WHERE next_alarm_time > now() AND next_alarm_time < now() + interval '1 day' LIMIT 10000
) AS soon

-- name: count_open_alerts
SELECT '{context}'::text AS state, count(*) AS count FROM rm_{context}.alert_rows WHERE resolved_at IS NULL

-- name: minutes_of_attempts
SELECT minute, started, succeeded, failed, timed_out, failed_final, rolled_back, waited_ms, ran_ms
FROM rm_fleet.attempt_minutes WHERE minute >= $1

-- name: minutes_of_renders
SELECT date_trunc('minute', changed_at) AS minute, status_to AS state, count(*) AS count
FROM rm_render.render_queue_audit
WHERE changed_at >= $1 AND status_to IN ('completed', 'failed')
GROUP BY minute, status_to

-- name: minutes_of_analyses
SELECT date_trunc('minute', completed_at) AS minute, status AS state, count(*) AS count
FROM rm_analysis.test_rows
WHERE completed_at >= $1
GROUP BY minute, status

-- name: minutes_of_reminders
SELECT date_trunc('minute', created_at) AS minute, event_type AS state, count(*) AS count
FROM rm_reminder.alarms_event
WHERE event_type IN ('SENT', 'FAILED') AND created_at >= $1
GROUP BY minute, event_type
