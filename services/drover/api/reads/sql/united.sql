-- Queries on the tables that every context has. `{context}` is its name: each context is a branch, and the branches are
-- merged.

-- name: alerts
SELECT '{context}'::text AS context, {columns}
FROM rm_{context}.alert_rows a

-- name: events
SELECT '{context}'::text AS context, {columns}
FROM rm_{context}.events e

-- name: next_of_entities
SELECT f.entity, f.seq AS after_seq, f.line AS after_line, n.*
FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::int[]) AS f (entity, at, seq, line)
CROSS JOIN LATERAL (
  SELECT '{context}'::text AS context, {columns}
  FROM rm_{context}.events e
  WHERE hashtextextended(e.entities[1], 0) = hashtextextended(f.entity, 0) AND e.entities[1] = f.entity
    AND e.at >= f.at AND (e.at, e.seq, e.line) > (f.at, f.seq, f.line) AND e.cause <> $5
  ORDER BY e.at, e.seq, e.line
  LIMIT 1
) AS n
ORDER BY n.at, n.seq, n.line

-- name: event_before
SELECT '{context}'::text AS context, {columns}
FROM rm_{context}.events e
WHERE hashtextextended(e.entities[1], 0) = hashtextextended($1, 0) AND e.entities[1] = $1
  AND e.at <= $2 AND (e.at, e.seq, e.line) < ($2, $3, $4) AND e.cause <> $5
ORDER BY e.at DESC, e.seq DESC, e.line DESC
LIMIT 1
