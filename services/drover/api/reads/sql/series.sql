-- What charts show over a range of time, in steps of equal length. $1: where the range begins, $2: where it ends, $3:
-- seconds of a step.

-- name: steps_of_attempts
SELECT floor(extract(epoch FROM minute - $1::timestamptz) / $3::int)::int AS step,
       sum(started)::bigint AS started, sum(succeeded)::bigint AS succeeded,
       sum(failed + timed_out)::bigint AS failed, sum(rolled_back)::bigint AS rolled_back,
       sum(waited_ms)::bigint AS waited_ms, sum(ran_ms)::bigint AS ran_ms
FROM rm_fleet.attempt_minutes
WHERE minute >= $1::timestamptz AND minute < $2::timestamptz
GROUP BY step

-- name: steps_of_samples
SELECT floor(extract(epoch FROM minute - $1::timestamptz) / $3::int)::int AS step,
       round(avg(online))::int AS online, round(avg(busy))::int AS busy,
       round(avg(offline))::int AS offline, round(avg(error))::int AS error,
       max(lag_ms) AS lag_ms
FROM drover.farm_minutes
WHERE minute >= $1::timestamptz AND minute < $2::timestamptz
GROUP BY step

-- name: recorded_minutes
-- A minute counts if something was measured or recorded in it.
SELECT floor(extract(epoch FROM minute - $1::timestamptz) / $3::int)::int AS step, count(*)::int AS minutes
FROM (
  SELECT minute FROM drover.farm_minutes WHERE minute >= $1::timestamptz AND minute < $2::timestamptz
  UNION
  SELECT minute FROM rm_fleet.attempt_minutes WHERE minute >= $1::timestamptz AND minute < $2::timestamptz
) AS recorded
GROUP BY step

-- name: fleet_terms
-- The newest terms of the fleet's writer: each begins with its start, or when it takes over.
SELECT at, data ->> 'holder' AS holder
FROM rm_fleet.events e
WHERE hashtextextended(e.type, 0) = hashtextextended('TermStarted', 0) AND e.type = 'TermStarted'
  AND at >= $1::timestamptz AND at < $2::timestamptz
ORDER BY at DESC
LIMIT 200
