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
