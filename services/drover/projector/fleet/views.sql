-- What clients see of the fleet. Where telemetry (`tel_fleet.presence`) adds to a row, that part is volatile and no part
-- of verify: `last_seen_at` of devices, and `progress_pct` of what runs between two events.

CREATE VIEW devices AS
SELECT d.id, d.serial_number, d.group_id, d.pc_id,
       CASE
         WHEN d.error_rule IS NOT NULL THEN 'error'
         WHEN d.running THEN 'busy'
         WHEN d.alive THEN 'online'
         ELSE 'offline'
       END AS status,
       d.capabilities, greatest(d.heard_at, p.last_seen_at) AS last_seen_at,
       d.error_rule AS error_code, d.error_until, d.error_condition, d.held_until, d.created_at, d.updated_at
FROM device_rows d LEFT JOIN tel_fleet.presence p ON p.device_id = d.id;

CREATE VIEW pcs AS
SELECT pc.id, pc.capacity, pc.created_at, pc.updated_at, pc.held_until, d.*
FROM pc_rows pc CROSS JOIN LATERAL (
  SELECT count(*) AS device_count,
         count(*) FILTER (WHERE status = 'online') AS online,
         count(*) FILTER (WHERE status = 'offline') AS offline,
         count(*) FILTER (WHERE status = 'busy') AS busy,
         count(*) FILTER (WHERE status = 'error') AS error
  FROM devices WHERE pc_id = pc.id
) d;

CREATE VIEW workers AS
SELECT id, id AS pc_id, capacity AS device_capacity, capacity AS max_devices, held_until, created_at, updated_at
FROM pc_rows;

-- A device is eligible where it is heard, not in error, and wanted by the ACTIVE job, if there is one. Those that the
-- job was given by name are wanted whatever its target says. 20 is PC_CAPACITY_MAX of the fleet's policy.
CREATE VIEW pc_device_summary AS
SELECT pc.id AS pc_id, pc.capacity, d.running_count::int, d.eligible_device_count::int,
       least(20, pc.capacity, d.eligible_device_count)::int AS target
FROM pc_rows pc
LEFT JOIN (SELECT id, target, needs FROM job_rows WHERE status = 'active') AS active ON TRUE
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE device.assignment_id IS NOT NULL) AS running_count,
         count(*) FILTER (
           WHERE device.alive AND device.error_rule IS NULL AND (
             active.id IS NULL
             OR device.capabilities @> active.needs AND (
               active.target IS NULL
               OR coalesce(active.target -> 'device_ids' ? device.id::text, FALSE)
               OR active.target -> 'device_ids' IS NULL
                  AND coalesce(active.target ->> 'group_id', device.group_id) = device.group_id
                  AND coalesce(active.target ->> 'pc_id', device.pc_id) = device.pc_id
               OR device.id IN (
                 SELECT a.device_id
                 FROM assignment_rows a JOIN job_rows j ON j.id = a.job_id
                 WHERE j.status = 'active' AND a.named
               )
             )
           )
         ) AS eligible_device_count
  FROM device_rows device WHERE device.pc_id = pc.id
) AS d;

CREATE VIEW jobs AS
SELECT id, title, target_url, script_type, duration_min_pct, duration_max_pct, prob_like, prob_comment, prob_playlist,
       is_active, base_reward, target, created_at, status, needs, activated_at, ended_at, paused_for, end_reason,
       updated_at, pending, running, retrying, completed, failed, cancelled, skipped
FROM job_rows;

CREATE VIEW job_assignments AS
SELECT a.id, a.job_id, a.device_id, a.pc_id, a.status,
       CASE
         WHEN a.status = 'running' AND p.assignment_id = a.id AND p.run = a.run
         THEN greatest(a.progress_pct, p.progress_pct)
         ELSE a.progress_pct
       END AS progress_pct,
       a.actual_duration_sec, a.did_like, a.did_comment, a.did_playlist, a.error_code, a.error_message, a.retry_count,
       a.assigned_at, a.started_at, a.completed_at, a.run, a.attempt, a.sent_at, a.timeout_at, a.timed_out,
       a.retry_due_at, a.ad_playing, a.reason, a.created_at, a.updated_at
FROM assignment_rows a LEFT JOIN tel_fleet.presence p ON p.device_id = a.device_id;

CREATE VIEW tasks AS
SELECT id, title,
       CASE
         WHEN status IN ('created', 'paused') THEN 'pending'
         WHEN status = 'active' AND retrying > 0 AND pending = 0 AND running = 0 THEN 'retrying'
         WHEN status = 'active' THEN 'running'
         WHEN status = 'completed' AND completed > 0 THEN 'success'
         WHEN status = 'completed' AND failed > 0 THEN 'failed'
         ELSE 'cancelled' -- also one that ended because people cancelled all of its assignments
       END AS status,
       target_url, script_type, created_at, activated_at AS started_at, ended_at AS completed_at, updated_at,
       coalesce(paused_for, end_reason) AS reason, pending, running, retrying, completed, failed, cancelled, skipped
FROM job_rows;

-- 3 is ATTEMPTS_MAX of the fleet's policy.
CREATE VIEW task_devices AS
SELECT id, job_id AS task_id, device_id, pc_id, CASE WHEN phase = 'sent' THEN 'claimed' ELSE status END AS status,
       attempt, 3 AS max_attempts, coalesce(error_message, error_code) AS error, error_code, timed_out, run,
       assigned_at, sent_at, started_at, timeout_at, completed_at, created_at, updated_at
FROM assignment_rows;

CREATE VIEW execution_logs AS
SELECT id, task_id, task_device_id, device_id, pc_id, event_type, level, message, error_code, attempt, run, by,
       created_at
FROM tasks_event;
