-- Queries on analyses. Users are ids only, without personal data.

-- name: analyses
SELECT {columns}
FROM {page}

-- name: cleanup_runs
SELECT {columns}
FROM {page}

-- name: cleanup_run_tests
SELECT {columns}
FROM {page}

-- name: user
SELECT {columns}
FROM rm_analysis.user_rows u
WHERE u.id = $1

-- name: ledger
SELECT {columns}
FROM {page}

-- name: latest_cleanup
SELECT started_at, started_before, tiers_started_before
FROM rm_analysis.run_rows
ORDER BY started_at DESC
LIMIT 1
