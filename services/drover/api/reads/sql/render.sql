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
