
-- Hand-written views of the render queue. Views that only show columns are generated from the rows.

-- How long each stage usually takes, in seconds, by document 003 (the render queue), §2.2.
CREATE VIEW render_stage_ranges AS
SELECT number, stage, seconds_min, seconds_max
FROM (VALUES (1, 'preparing', 1::float8, 2::float8),
             (2, 'rendering', 30, 120),
             (3, 'encoding', 10, 60),
             (4, 'uploading', 5, 30)) AS ranges (number, stage, seconds_min, seconds_max);

-- Each stage that each render has been in, compared with its range. The verdict of a current stage is `above` or null.
CREATE VIEW render_stages AS
SELECT render_queue_id, number, stage, seconds, under_way, seconds_min, seconds_max,
       CASE
         WHEN seconds > seconds_max THEN 'above'
         WHEN under_way THEN NULL
         WHEN seconds < seconds_min THEN 'below'
         ELSE 'within'
       END AS verdict
FROM (
  SELECT r.id AS render_queue_id, ranges.number, ranges.stage, r.status = ranges.stage AS under_way,
         CASE
           WHEN r.status = ranges.stage
           THEN coalesce(measured.seconds, 0) + greatest(0, extract(epoch FROM now() - r.stage_since))
           ELSE measured.seconds
         END AS seconds,
         ranges.seconds_min, ranges.seconds_max
  FROM render_rows r
  CROSS JOIN render_stage_ranges ranges
  CROSS JOIN LATERAL (
    SELECT CASE ranges.stage
             WHEN 'preparing' THEN r.preparing_seconds
             WHEN 'rendering' THEN r.rendering_seconds
             WHEN 'encoding' THEN r.encoding_seconds
             ELSE r.uploading_seconds
           END AS seconds
  ) AS measured
) AS stages
WHERE seconds IS NOT NULL;

-- Workers that were heard within a day, and those that have a render, heard or not. They send a heartbeat every 10 s;
-- after three missed ones a worker counts as gone. An external worker sends none: it is busy while its lease lasts.
CREATE VIEW render_workers AS
SELECT coalesce(w.worker_id, r.worker_id) AS worker_id,
       CASE
         WHEN r.external AND r.lock_expires_at > now() THEN 'busy'
         WHEN coalesce(w.last_seen_at, '-infinity') <= now() - interval '30 seconds' THEN 'gone'
         WHEN r.id IS NOT NULL THEN 'busy'
         ELSE 'idle'
       END AS status,
       w.last_seen_at, r.run, r.status AS render_status, r.lock_expires_at, r.id AS render_queue_id
FROM tel_render.workers w
FULL JOIN (
  SELECT id, run, status, worker_id, lock_expires_at, external
  FROM render_rows WHERE status IN ('preparing', 'rendering', 'encoding', 'uploading')
) AS r ON r.worker_id = w.worker_id
WHERE r.id IS NOT NULL OR w.last_seen_at > now() - interval '1 day';

-- The figures of document 003 (the render queue), §7.2: the number of pending renders; the mean duration of the
-- latest 100 that completed within a day; the success rate, in percent, of those that were requested within a day and
-- completed or failed; the number of workers that are busy or idle, not gone. Null: there is no render to compute the
-- figure from.
CREATE VIEW render_figures AS
SELECT (SELECT count(*) FROM render_rows WHERE status = 'pending') AS pending_count,
       (
         SELECT avg(duration_seconds)
         FROM (
           SELECT duration_seconds FROM render_rows
           WHERE status = 'completed' AND completed_at > now() - interval '1 day'
           ORDER BY completed_at DESC LIMIT 100
         ) AS latest
       ) AS avg_duration_seconds,
       (
         SELECT 100.0::float8 * count(*) FILTER (WHERE status = 'completed') / nullif(count(*), 0)
         FROM render_rows
         WHERE status IN ('completed', 'failed') AND created_at > now() - interval '24 hours'
       ) AS success_rate,
       (SELECT count(DISTINCT worker_id) FROM render_workers WHERE status <> 'gone') AS active_workers;
