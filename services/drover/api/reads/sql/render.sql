-- Queries on renders. Without gfx_data: it is sealed, and only /rest/v1 checks who may see it.

-- name: renders
SELECT {columns}
FROM {page}
LEFT JOIN LATERAL (SELECT * FROM tel_render.workers WHERE worker_id = r.worker_id LIMIT 1) AS w ON TRUE

-- name: render_film
SELECT output_file_path, output_size_bytes, output_sha256
FROM rm_render.render_rows
WHERE id = $1 AND status = 'completed'
UNION ALL
SELECT NULL, NULL, NULL
FROM rm_render.render_rows
WHERE id = $1 AND status <> 'completed'

-- name: render_audit
SELECT {columns}
FROM rm_render.render_queue_audit c
WHERE c.render_queue_id = $1
ORDER BY c.id DESC
LIMIT $2

-- name: render_stages
SELECT {columns}
FROM rm_render.render_stages s
WHERE s.render_queue_id = $1
ORDER BY s.number

-- name: render_workers
SELECT worker_id, status, last_seen_at, run, render_status, lock_expires_at, render_queue_id AS render_id
FROM rm_render.render_workers
ORDER BY worker_id
LIMIT $1

-- name: renders_ahead
SELECT count(*) AS ahead
FROM (
  SELECT FROM rm_render.render_rows
  WHERE status = 'pending' AND created_at <= $1::timestamptz AND (created_at, id) < ($1::timestamptz, $2::int)
  LIMIT $3
) AS earlier

-- name: render_open_alerts
SELECT kind, message
FROM rm_render.alert_rows
WHERE resolved_at IS NULL AND subject = ANY ($1::text[])
ORDER BY raised_at DESC
LIMIT $2
