
-- Hand-written views of the fleet. Views that only show columns are generated from the rows.

CREATE VIEW pcs AS
SELECT pc.id, pc.capacity, pc.created_at, pc.updated_at, pc.held_until, d.*
FROM pc_rows pc CROSS JOIN LATERAL (
  SELECT count(*) AS device_count,
         count(*) FILTER (WHERE status = 'online') AS online,
         count(*) FILTER (WHERE status = 'offline') AS offline,
         count(*) FILTER (WHERE status = 'busy') AS busy,
         count(*) FILTER (WHERE status = 'error') AS error
  FROM (SELECT device_status(error_rule, running, alive) AS status FROM device_rows WHERE pc_id = pc.id) AS devices
) d;

-- A device is eligible if it is heard, not in error, and targeted by the ACTIVE job, if there is one. Devices that a
-- person chose for the job count as targeted, whatever its target says. 20 is PC_CAPACITY_MAX of the fleet's policy.
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
