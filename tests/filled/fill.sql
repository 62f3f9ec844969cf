-- Ids are made from numbers, so that each table finds those of the others: a letter for the kind, then the number.
CREATE OR REPLACE FUNCTION pg_temp.number(name text) RETURNS int LANGUAGE sql STABLE AS
$$ SELECT current_setting('fill.' || name)::int $$;
CREATE OR REPLACE FUNCTION pg_temp.id(kind text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT md5(kind || n)::uuid $$;

-- The fleet: PCs of 20 phones, 60 jobs one after the other, the last of them ACTIVE.
INSERT INTO rm_fleet.pc_rows
SELECT 'PC-' || lpad(n::text, 4, '0'), 20, now() - interval '30 days', now() - interval '30 days', NULL
FROM generate_series(0, (pg_temp.number('devices') - 1) / 20) n;

INSERT INTO rm_fleet.device_rows (id, serial_number, group_id, pc_id, capabilities, alive, running, error_rule, heard_at,
  created_at, updated_at)
SELECT pg_temp.id('d', n), 'SERIAL' || lpad(n::text, 8, '0'), 'P' || n / 20 || '-G' || n % 4,
       'PC-' || lpad((n / 20)::text, 4, '0'), ARRAY[]::text[], n % 10 <> 0, n % 5 = 1,
       CASE WHEN n % 200 = 7 THEN 'APP_CRASH' END, now(), now() - interval '30 days', now()
FROM generate_series(0, pg_temp.number('devices') - 1) n;

INSERT INTO tel_fleet.presence
SELECT pg_temp.id('d', n), now(), '{"status": "online", "battery_pct": 80}'
FROM generate_series(0, pg_temp.number('devices') - 1) n;

INSERT INTO rm_fleet.job_rows (id, title, target_url, script_type, duration_min_pct, duration_max_pct, prob_like,
  prob_comment, prob_playlist, is_active, base_reward, status, needs, created_at, updated_at, activated_at, ended_at,
  pending, running, retrying, completed, failed, cancelled, skipped, priority, put_first, is_scheduled)
SELECT pg_temp.id('j', n), 'Job ' || n, 'https://youtu.be/' || n, 'youtube_watch', 30, 90, 50, 30, 10, n = 59, 10,
       CASE WHEN n = 59 THEN 'active' WHEN n % 7 = 0 THEN 'cancelled' ELSE 'completed' END, ARRAY[]::text[],
       now() - (60 - n) * interval '12 hours', now(), now() - (60 - n) * interval '12 hours',
       CASE WHEN n < 59 THEN now() - (59 - n) * interval '12 hours' END, 0, 0, 0, 100, 2, 1, 0, 0, 0, FALSE
FROM generate_series(0, 59) n;
INSERT INTO rm_fleet.job_rows (id, title, target_url, script_type, duration_min_pct, duration_max_pct, prob_like,
  prob_comment, prob_playlist, is_active, base_reward, status, needs, created_at, updated_at, activated_at, ended_at,
  pending, running, retrying, completed, failed, cancelled, skipped, priority, put_first, is_scheduled)
SELECT pg_temp.id('w', n), 'Waiting ' || n, 'https://youtu.be/w', 'youtube_watch', 30, 90, 50, 30, 10, TRUE, 10,
       CASE WHEN n % 10 = 0 THEN 'paused' ELSE 'created' END, ARRAY[]::text[], now() - n * interval '1 second', now(),
       NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, FALSE
FROM generate_series(1, 2000) n;

-- Assignment n: its job, its device, and when it was; of the last job a fifth is running.
CREATE TEMP TABLE filled_assignment AS
SELECT n, pg_temp.id('a', n) AS id, pg_temp.id('j', job) AS job_id, pg_temp.id('d', n % pg_temp.number('devices')) AS device_id,
       'PC-' || lpad(((n % pg_temp.number('devices')) / 20)::text, 4, '0') AS pc_id,
       now() - (pg_temp.number('assignments') - n) * (interval '30 days' / pg_temp.number('assignments')) AS at,
       CASE
         WHEN job = 59 AND n % 5 = 1 THEN 'running'
         WHEN n % 50 = 3 THEN 'failed'
         WHEN n % 70 = 4 THEN 'cancelled'
         ELSE 'completed'
       END AS status
FROM (SELECT n, n * 60 / pg_temp.number('assignments') AS job FROM generate_series(0, pg_temp.number('assignments') - 1) n) x;

INSERT INTO rm_fleet.assignment_rows (id, job_id, device_id, pc_id, created_at, updated_at, status, phase, named, run,
  attempt, retry_count, progress_pct, ad_playing, did_like, did_comment, did_playlist, timed_out, assigned_at, started_at,
  completed_at, error_code)
SELECT id, job_id, device_id, pc_id, at, at, status, status, FALSE, 1, 1, 0, 50, FALSE, FALSE, FALSE, FALSE, FALSE, at, at,
       CASE WHEN status <> 'running' THEN at + interval '3 minutes' END,
       CASE WHEN status = 'failed' THEN 'APP_CRASH' END
FROM filled_assignment;

UPDATE rm_fleet.device_rows d SET assignment_id = a.id
FROM filled_assignment a WHERE a.status = 'running' AND a.device_id = d.id;

INSERT INTO rm_fleet.tasks_event (id, task_id, task_device_id, device_id, pc_id, attempt, run, event_type, level, by,
  created_at)
SELECT a.n::bigint * 65536 * 4 + step, a.job_id, a.id, a.device_id, a.pc_id, 1, 1,
       (ARRAY['CREATED', 'SENT', 'ACKED', 'SUCCEEDED'])[step + 1], 'info', 'anon',
       a.at + step * interval '10 seconds'
FROM filled_assignment a CROSS JOIN generate_series(0, 3) step;

INSERT INTO rm_fleet.attempt_minutes
SELECT date_trunc('minute', now()) - n * interval '1 minute', 40, 40, 40, 38, 2, 0, 1, 0, 0, 90000, 400000
FROM generate_series(0, 20000) n;

-- Twelve events for each assignment, a commit each; now and then something that a person did.
INSERT INTO rm_fleet.events
SELECT a.n::bigint * 12 + step + 1, 0, a.n::bigint * 12 + step + 1, a.at + step * interval '1 second',
       (ARRAY['AttemptCreated', 'AttemptSent', 'AttemptStarted', 'AttemptProgressed', 'AttemptSucceeded'])[least(4, CASE WHEN step < 3 THEN step WHEN step < 11 THEN 3 ELSE 4 END) + 1],
       CASE WHEN a.n % 500 = 0 THEN 'user:' || pg_temp.id('u', a.n % 7) WHEN step = 0 THEN 'clock' ELSE 'anon' END,
       pg_temp.id('c', a.n::bigint * 12 + step)::text, NULL, ARRAY[a.id::text, a.job_id::text, a.device_id::text],
       jsonb_build_object('type', 'AttemptProgressed', 'assignment_id', a.id, 'job_id', a.job_id, 'device_id', a.device_id,
                          'run', 1, 'attempt', 1, 'progress_pct', step * 8)
FROM filled_assignment a CROSS JOIN generate_series(0, 11) step;
INSERT INTO rm_fleet.events
SELECT pg_temp.number('assignments')::bigint * 12 + n + 1, 0, 1, now() - (2000 - n) * interval '20 minutes', 'JobPaused',
       'user:' || pg_temp.id('u', 1), pg_temp.id('p', n)::text, NULL, ARRAY[pg_temp.id('j', n % 60)::text],
       jsonb_build_object('type', 'JobPaused', 'job_id', pg_temp.id('j', n % 60))
FROM generate_series(1, 2000) n;

INSERT INTO rm_fleet.alert_rows
SELECT 'alert-' || n, CASE WHEN n % 3 = 0 THEN 'host_failing' ELSE 'offers_untaken' END, pg_temp.id('d', n % 500)::text,
       'Something is wrong', '{}', now() - n * interval '10 minutes', NULL,
       CASE WHEN n > 40 THEN now() END, NULL
FROM generate_series(1, 5000) n;

-- Renders.
INSERT INTO rm_render.render_rows (id, composition_id, composition_name, cue_item_id, broadcast_date, created_at, updated_at,
  stage_since, status, run, generation, generation_ends, external, worker_id, progress, recovery_count, unmapped_fields, completed_at, duration_seconds)
SELECT n, 'comp-' || n % 40, 'Composition', to_jsonb('cue-' || n / 3), (now() - (pg_temp.number('renders') - n) * interval '20 minutes')::date,
       now() - (pg_temp.number('renders') - n) * interval '20 minutes', now(), now(),
       CASE WHEN n > pg_temp.number('renders') - 10 THEN 'pending' WHEN n > pg_temp.number('renders') - 20 THEN 'rendering' WHEN n % 60 = 0 THEN 'failed' ELSE 'completed' END,
       1, 1, ARRAY[]::int[], FALSE, 'worker-' || n % 8, 50, 0, ARRAY[]::text[], now() - (pg_temp.number('renders') - n) * interval '20 minutes', 90
FROM generate_series(1, pg_temp.number('renders')) n;
INSERT INTO rm_render.render_queue_audit (id, render_queue_id, status_to, worker_id, changed_at, changed_by)
SELECT n::bigint * 65536 + step, n, (ARRAY['pending', 'preparing', 'rendering', 'encoding', 'completed'])[step + 1],
       'worker-1', now() - (pg_temp.number('renders') - n) * interval '20 minutes' + step * interval '1 minute', 'worker'
FROM generate_series(1, pg_temp.number('renders')) n CROSS JOIN generate_series(0, 4) step;
INSERT INTO tel_render.workers SELECT 'worker-' || n, now(), NULL, NULL, NULL FROM generate_series(0, 7) n;

-- Analyses.
INSERT INTO rm_analysis.user_rows
SELECT 'user-' || n, 'free', 3, FALSE, 10, 0, 8, 1, now(), now() FROM generate_series(0, 4999) n;
INSERT INTO rm_analysis.test_rows
SELECT pg_temp.id('t', n), 'user-' || n % 5000,
       CASE WHEN n > pg_temp.number('tests') - 100 THEN 'processing' WHEN n % 30 = 0 THEN 'failed' ELSE 'completed' END, NULL, NULL, NULL, NULL, FALSE,
       NULL, NULL, NULL, now() - (pg_temp.number('tests') - n) * interval '5 minutes', now(),
       CASE WHEN n <= pg_temp.number('tests') - 100 THEN now() - (pg_temp.number('tests') - n) * interval '5 minutes' END
FROM generate_series(1, pg_temp.number('tests')) n;
INSERT INTO rm_analysis.run_rows
SELECT pg_temp.id('r', n), 'cron', 'clock', 'finished', now(), now(), '{}', 3, 0, 3, 12, now() - n * interval '1 hour', now()
FROM generate_series(1, 5000) n;
INSERT INTO rm_analysis.cleanup_run_tests (id, run_id, test_id, user_id, outcome, created_at)
SELECT n, pg_temp.id('r', n % 5000 + 1), pg_temp.id('t', n), 'user-' || n % 5000, 'cleaned', now()
FROM generate_series(1, 20000) n;
INSERT INTO rm_analysis.test_ledger (id, user_id, kind, amount, remaining_tests, test_id, by, created_at)
SELECT n, 'user-' || n % 5000, 'charge', -1, 3, pg_temp.id('t', n), 'clock', now() FROM generate_series(1, pg_temp.number('others')) n;

-- Reminders.
INSERT INTO rm_reminder.user_rows SELECT 'user-' || n, 'Asia/Seoul', now(), now() FROM generate_series(0, 4999) n;
INSERT INTO rm_reminder.alarm_rows (user_id, page_id, title, body, next_alarm_time, sent_count, processed_at, attempt, shift_min, last_error,
  created_at, updated_at)
SELECT 'user-' || n % 5000, 'page-' || n, 'A page', 'Its text', now() + (n - 50) * interval '1 minute', 1,
       CASE WHEN n % 1000 = 5 THEN now() END, 0, 0, CASE WHEN n % 900 = 7 THEN 'timeout' END, now(), now()
FROM generate_series(1, pg_temp.number('others')) n;
INSERT INTO rm_reminder.alarms_event
SELECT n, 'page-' || n % pg_temp.number('others'), 'user-' || n % 5000, 1, 1, NULL,
       CASE WHEN n % 300 = 0 THEN 'FAILED' WHEN n % 2 = 0 THEN 'SENT' ELSE 'DISPATCHED' END, 'info', NULL, NULL, NULL, NULL,
       'reminder', now() - (2 * pg_temp.number('others') - n) * interval '10 seconds'
FROM generate_series(1, 2 * pg_temp.number('others')) n;

-- Events of the other contexts.
INSERT INTO rm_render.events
SELECT n, 0, n, now() - (pg_temp.number('others') - n) * interval '20 seconds', 'RenderProgressed', 'worker',
       pg_temp.id('rc', n)::text, NULL, ARRAY[(n / 20)::text, 'worker-1'], '{}'
FROM generate_series(1, pg_temp.number('others')) n;
INSERT INTO rm_analysis.events
SELECT n, 0, n, now() - (pg_temp.number('others') - n) * interval '20 seconds', 'TestCompleted', 'service_role',
       pg_temp.id('tc', n)::text, NULL, ARRAY[pg_temp.id('t', n)::text, 'user-' || n % 5000], '{}'
FROM generate_series(1, pg_temp.number('others')) n;
INSERT INTO rm_reminder.events
SELECT n, 0, n, now() - (pg_temp.number('others') - n) * interval '20 seconds', 'AlarmSent', 'reminder',
       pg_temp.id('mc', n)::text, NULL, ARRAY['page-' || n % pg_temp.number('others'), 'user-' || n % 5000], '{}'
FROM generate_series(1, pg_temp.number('others')) n;
INSERT INTO rm_identity.events
SELECT n, 0, n, now() - (pg_temp.number('others') - n) * interval '20 seconds', 'RefreshRotated', 'api',
       pg_temp.id('ic', n)::text, NULL, ARRAY[pg_temp.id('s', n % 3000)::text], '{}'
FROM generate_series(1, pg_temp.number('others')) n;
