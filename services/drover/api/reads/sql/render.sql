-- What is read of renders. Not gfx_data: it is sealed, and who may see what is in it is asked at /rest/v1.

-- name: renders
SELECT r.id, r.composition_id, r.composition_name, r.cue_item_id, r.broadcast_date, r.status,
       CASE
         WHEN r.status IN ('rendering', 'encoding') AND w.render_id = r.id AND coalesce(w.run, r.run) = r.run
         THEN greatest(r.progress, w.progress)
         ELSE r.progress
       END AS progress,
       r.worker_id, r.lock_expires_at, r.nexrender_job_id, r.run, r.recovery_count, r.error_code, r.error_message,
       r.retry_due_at, r.unmapped_fields, r.output_file_path, r.output_size_bytes, r.output_sha256, r.created_at,
       r.started_at, r.stage_since, r.updated_at, r.completed_at, r.duration_seconds, r.preparing_seconds,
       r.rendering_seconds, r.encoding_seconds, r.uploading_seconds
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
SELECT id, status_from, status_to, worker_id, changed_at, changed_by, reason
FROM rm_render.render_queue_audit
WHERE render_queue_id = $1
ORDER BY id DESC
LIMIT $2

-- name: render_stages
SELECT number, stage, seconds, under_way, seconds_min, seconds_max, verdict
FROM rm_render.render_stages
WHERE render_queue_id = $1
ORDER BY number

-- name: render_workers
SELECT worker_id, status, last_seen_at, render_queue_id, run, render_status, lock_expires_at
FROM rm_render.render_workers
ORDER BY worker_id
LIMIT $1
