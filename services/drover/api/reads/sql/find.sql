-- What somebody may mean who types a few letters. $1 and $2: the beginning of a text and the end of its range, as
-- text_pattern_ops compares them. A beginning may be that of many rows: the first 200 are looked at.

-- name: find_jobs
SELECT id, title, status, created_at FROM (
  SELECT id, title, status, created_at FROM rm_fleet.job_rows
  WHERE lower(title) ~>=~ $1 AND lower(title) ~<~ $2 LIMIT 200
) AS found
ORDER BY lower(title) <> $1, created_at DESC LIMIT 6

-- name: find_job
SELECT id, title, status, created_at FROM rm_fleet.job_rows WHERE id = $1

-- name: find_renders
SELECT id, composition_name, status, created_at FROM (
  SELECT id, composition_name, status, created_at FROM rm_render.render_rows
  WHERE lower(composition_name) ~>=~ $1 AND lower(composition_name) ~<~ $2 LIMIT 200
) AS found
ORDER BY lower(composition_name) <> $1, created_at DESC LIMIT 6

-- name: find_renders_of_compositions
-- A farm has some hundred compositions, so any part of their name is looked for.
SELECT r.id, r.composition_name, r.status, r.created_at
FROM (SELECT id FROM rm_render.composition_rows WHERE position($1 IN lower(name)) > 0 ORDER BY name LIMIT 20) AS c
CROSS JOIN LATERAL (
  SELECT id, composition_name, status, created_at FROM rm_render.render_rows
  WHERE composition_id = c.id ORDER BY created_at DESC LIMIT 6
) AS r
ORDER BY r.created_at DESC LIMIT 6

-- name: find_render
SELECT id, composition_name, status, created_at FROM rm_render.render_rows WHERE id = $1

-- name: find_users
SELECT id, tier, frozen FROM rm_analysis.user_rows
WHERE lower(id) ~>=~ $1 AND lower(id) ~<~ $2
ORDER BY lower(id) USING ~<~ LIMIT 6
