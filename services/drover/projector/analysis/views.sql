-- What clients see of analyses.

CREATE VIEW users AS
SELECT id, tier, remaining_tests, frozen, granted, charged, refunded, created_at, updated_at
FROM user_rows;

CREATE VIEW saju_tests AS
SELECT id, user_id, status, reason, error_code, error_message, result_ref, refunded, cleanup_run_id, skipped,
       late_report, created_at, updated_at, completed_at
FROM test_rows;

-- Lists are made only where they are asked for.
CREATE VIEW cleanup_runs AS
SELECT r.id, r.trigger, r.by, r.status, r.scheduled_for, r.started_before, r.tiers_started_before, r.cleaned_count,
       r.skipped_count, r.users_count, r.duration_ms, r.started_at, r.finished_at,
       ARRAY(
         SELECT DISTINCT t.user_id FROM cleanup_run_tests t
         WHERE t.run_id = r.id AND t.outcome = 'cleaned' ORDER BY t.user_id
       ) AS users_affected,
       ARRAY(
         SELECT t.test_id::text FROM cleanup_run_tests t
         WHERE t.run_id = r.id AND t.outcome = 'cleaned' ORDER BY t.id
       ) AS tests_cleaned,
       ARRAY(
         SELECT t.test_id::text FROM cleanup_run_tests t
         WHERE t.run_id = r.id AND t.outcome = 'skipped' ORDER BY t.id
       ) AS tests_skipped
FROM run_rows r;
