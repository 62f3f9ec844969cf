-- Queries on the fleet. `{columns}` stands for the columns of the row that a query shows, `{work}` for those of a
-- device's current assignment (`columns.py`), `{page}` for the rows of a page. Other tables are joined to these rows one
-- by one (LATERAL … LIMIT 1): otherwise PostgreSQL would hash whole tables.

-- name: devices
SELECT {columns}, {work}
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
SELECT {columns}, least(20, pc.capacity) AS slots, d.*
FROM {page}
CROSS JOIN LATERAL (
  SELECT count(*) AS devices,
         count(*) FILTER (WHERE status = 'online') AS online,
         count(*) FILTER (WHERE status = 'offline') AS offline,
         count(*) FILTER (WHERE status = 'busy') AS busy,
         count(*) FILTER (WHERE status = 'error') AS error
  FROM (
    SELECT rm_fleet.device_status(error_rule, running, alive) AS status
    FROM rm_fleet.device_rows WHERE pc_id = pc.id
  ) AS statuses
) AS d

-- name: slots
SELECT d.pc_id, d.id AS device_id, d.serial_number,
       rm_fleet.device_status(d.error_rule, d.running, d.alive) AS device_status, {work}
FROM rm_fleet.device_rows d
CROSS JOIN LATERAL (SELECT * FROM rm_fleet.assignment_rows WHERE id = d.assignment_id LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT title FROM rm_fleet.job_rows WHERE id = a.job_id LIMIT 1) AS j ON TRUE
LEFT JOIN LATERAL (SELECT * FROM tel_fleet.presence WHERE device_id = d.id LIMIT 1) AS p ON TRUE
WHERE d.pc_id = ANY ($1::text[]) AND d.assignment_id IS NOT NULL
ORDER BY d.pc_id, d.serial_number

-- name: jobs
SELECT {columns}
FROM {page}

-- name: job_failures
SELECT error_code, count(*) AS assignments
FROM rm_fleet.assignment_rows
WHERE job_id = $1 AND status = 'failed'
GROUP BY error_code
ORDER BY assignments DESC, error_code
LIMIT 20

-- name: assignments
SELECT {columns}, d.serial_number
FROM {page}
LEFT JOIN LATERAL (SELECT serial_number FROM rm_fleet.device_rows WHERE id = a.device_id LIMIT 1) AS d ON TRUE
LEFT JOIN LATERAL (SELECT * FROM tel_fleet.presence WHERE device_id = a.device_id LIMIT 1) AS p ON TRUE

-- name: attempts
SELECT {columns}
FROM {page}
