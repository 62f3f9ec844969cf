-- What is read of the fleet. A device's status and the progress of what runs are what the views `devices` and
-- `job_assignments` say; here they come with more of the row. `{page}` stands for the rows of a page. What belongs to
-- them is looked up row by row (LATERAL … LIMIT 1): PostgreSQL would otherwise rather read whole tables into a hash.

-- name: devices
SELECT d.id, d.serial_number, d.group_id, d.pc_id,
       CASE
         WHEN d.error_rule IS NOT NULL THEN 'error'
         WHEN d.running THEN 'busy'
         WHEN d.alive THEN 'online'
         ELSE 'offline'
       END AS status,
       d.capabilities, greatest(d.heard_at, p.last_seen_at) AS last_seen_at, d.error_rule AS error_code, d.error_until,
       d.error_condition, d.held_until, d.created_at, d.updated_at,
       a.id AS assignment_id, a.job_id, j.title AS job_title, a.phase, a.run, a.attempt,
       CASE
         WHEN a.status = 'running' AND p.assignment_id = a.id AND p.run = a.run
         THEN greatest(a.progress_pct, p.progress_pct)
         ELSE a.progress_pct
       END AS progress_pct,
       a.ad_playing, a.assigned_at, a.sent_at, a.started_at, a.timeout_at, a.retry_due_at
FROM {page}
LEFT JOIN LATERAL (SELECT * FROM tel_fleet.presence WHERE device_id = d.id LIMIT 1) AS p ON TRUE
LEFT JOIN LATERAL (SELECT * FROM rm_fleet.assignment_rows WHERE id = d.assignment_id LIMIT 1) AS a ON TRUE
LEFT JOIN LATERAL (SELECT title FROM rm_fleet.job_rows WHERE id = a.job_id LIMIT 1) AS j ON TRUE

-- name: device_reported
SELECT reported FROM tel_fleet.presence WHERE device_id = $1

-- name: device_attempts
SELECT e.task_device_id, e.task_id, j.title, e.run, e.attempt, e.event_type, e.error_code, e.message, e.due_at,
       e.screenshot_ref, e.created_at
FROM rm_fleet.tasks_event e
LEFT JOIN LATERAL (SELECT title FROM rm_fleet.job_rows WHERE id = e.task_id LIMIT 1) AS j ON TRUE
WHERE e.device_id = $1 AND e.created_at >= $2 AND e.created_at < $3
ORDER BY e.created_at DESC, e.id DESC
LIMIT $4

-- name: pcs
SELECT pc.id, pc.capacity, least(20, pc.capacity) AS slots, pc.held_until, pc.created_at, pc.updated_at, d.*
FROM {page}
CROSS JOIN LATERAL (
  SELECT count(*) AS devices,
         count(*) FILTER (WHERE error_rule IS NULL AND NOT running AND alive) AS online,
         count(*) FILTER (WHERE error_rule IS NULL AND NOT running AND NOT alive) AS offline,
         count(*) FILTER (WHERE error_rule IS NULL AND running) AS busy,
         count(*) FILTER (WHERE error_rule IS NOT NULL) AS error
  FROM rm_fleet.device_rows WHERE pc_id = pc.id
) AS d

-- name: slots
SELECT d.pc_id, d.id AS device_id, d.serial_number,
       CASE
         WHEN d.error_rule IS NOT NULL THEN 'error'
         WHEN d.running THEN 'busy'
         WHEN d.alive THEN 'online'
         ELSE 'offline'
       END AS device_status,
       a.id AS assignment_id, a.job_id, j.title AS job_title, a.phase, a.run, a.attempt,
       CASE
         WHEN a.status = 'running' AND p.assignment_id = a.id AND p.run = a.run
         THEN greatest(a.progress_pct, p.progress_pct)
         ELSE a.progress_pct
       END AS progress_pct,
       a.ad_playing, a.assigned_at, a.sent_at, a.started_at, a.timeout_at, a.retry_due_at
FROM rm_fleet.device_rows d
CROSS JOIN LATERAL (SELECT * FROM rm_fleet.assignment_rows WHERE id = d.assignment_id LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT title FROM rm_fleet.job_rows WHERE id = a.job_id LIMIT 1) AS j ON TRUE
LEFT JOIN LATERAL (SELECT * FROM tel_fleet.presence WHERE device_id = d.id LIMIT 1) AS p ON TRUE
WHERE d.pc_id = ANY ($1::text[]) AND d.assignment_id IS NOT NULL
ORDER BY d.pc_id, d.serial_number

-- name: jobs
SELECT j.id, j.title, j.target_url, j.script_type, j.status, j.is_active, j.target, j.needs, j.duration_min_pct,
       j.duration_max_pct, j.prob_like, j.prob_comment, j.prob_playlist, j.base_reward, j.pending, j.running,
       j.retrying, j.completed, j.failed, j.cancelled, j.skipped, j.paused_for, j.end_reason, j.created_at,
       j.activated_at, j.ended_at, j.updated_at
FROM {page}

-- name: job_failures
SELECT error_code, count(*) AS assignments
FROM rm_fleet.assignment_rows
WHERE job_id = $1 AND status = 'failed'
GROUP BY error_code
ORDER BY assignments DESC, error_code
LIMIT 20

-- name: assignments
SELECT a.id, a.job_id, a.device_id, d.serial_number, a.pc_id, a.status, a.phase, a.run, a.attempt, a.retry_count,
       CASE
         WHEN a.status = 'running' AND p.assignment_id = a.id AND p.run = a.run
         THEN greatest(a.progress_pct, p.progress_pct)
         ELSE a.progress_pct
       END AS progress_pct,
       a.ad_playing, a.named, a.error_code, a.error_message, a.timed_out, a.reason, a.actual_duration_sec, a.did_like,
       a.did_comment, a.did_playlist, a.assigned_at, a.sent_at, a.started_at, a.timeout_at, a.retry_due_at,
       a.completed_at, a.created_at, a.updated_at
FROM {page}
LEFT JOIN LATERAL (SELECT serial_number FROM rm_fleet.device_rows WHERE id = a.device_id LIMIT 1) AS d ON TRUE
LEFT JOIN LATERAL (SELECT * FROM tel_fleet.presence WHERE device_id = a.device_id LIMIT 1) AS p ON TRUE

-- name: attempts
SELECT e.id, e.task_id AS job_id, e.task_device_id AS assignment_id, e.device_id, e.pc_id, e.attempt, e.run, e.event_type,
       e.level, e.error_code, e.message, e.due_at, e.screenshot_ref, e.activity_stack, e.by, e.created_at
FROM {page}
