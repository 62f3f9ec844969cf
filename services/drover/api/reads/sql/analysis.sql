-- What is read of analyses. User ids only: nothing here says who somebody is.

-- name: analyses
SELECT t.id, t.user_id, t.status, t.reason, t.error_code, t.error_message, t.result_ref, t.refunded, t.cleanup_run_id,
       t.skipped, t.late_report, t.created_at, t.updated_at, t.completed_at
FROM {page}

-- name: cleanup_runs
SELECT r.id, r.trigger, r.by, r.status, r.scheduled_for, r.started_before, r.tiers_started_before, r.cleaned_count,
       r.skipped_count, r.users_count, r.duration_ms, r.started_at, r.finished_at
FROM {page}

-- name: cleanup_run_tests
SELECT t.id, t.test_id, t.user_id, t.outcome, t.reason, t.created_at
FROM {page}

-- name: user
SELECT u.id, u.tier, u.remaining_tests, u.frozen, u.granted, u.charged, u.refunded, u.created_at, u.updated_at
FROM rm_analysis.user_rows u
WHERE u.id = $1

-- name: ledger
SELECT l.id, l.kind, l.amount, l.remaining_tests, l.test_id, l.cleanup_run_id, l.by, l.created_at
FROM {page}
