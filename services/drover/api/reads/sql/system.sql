-- Queries on the platform itself.

-- name: checkpoints
SELECT context, partition, seq, n, updated_at FROM drover.checkpoints WHERE schema = ANY ($1::text[])

-- name: read_models
SELECT schema, version, created_at FROM drover.read_models ORDER BY schema

-- name: detached
SELECT context, max(to_seq) AS before_seq, max(until) AS until
FROM drover.detached_partitions GROUP BY context ORDER BY context

-- name: rebuilds
SELECT id, projection, by, dry_run,
       CASE
         WHEN ended_at IS NULL AND updated_at < now() - interval '30 seconds' THEN 'interrupted'
         ELSE stage
       END AS stage,
       folded, events, positions, tables, error, started_at, updated_at, ended_at
FROM drover.rebuilds
ORDER BY id DESC
LIMIT 20

-- name: database
SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS size_bytes

-- name: connections
-- Connections to this database, by application name.
SELECT application_name AS name, count(*) AS connections, count(*) FILTER (WHERE state = 'active') AS active,
       min(backend_start) AS since
FROM pg_stat_activity
WHERE datname = current_database() AND application_name <> ''
GROUP BY application_name
ORDER BY application_name
LIMIT 200
