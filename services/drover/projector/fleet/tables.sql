-- The fleet's rows. Clients read them through `views.sql`; `tasks_event` and `events` are shown as they are.
-- A column that changes often is in no index where that can be had, and pages have room: then a change stays on its
-- page (HOT). For that, predicates of partial indices count like columns of an index.

CREATE TABLE pc_rows (
  id         text PRIMARY KEY,
  capacity   int NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  held_until timestamptz
);

CREATE TABLE device_rows (
  id              uuid PRIMARY KEY,
  serial_number   text NOT NULL,
  group_id        text NOT NULL,
  pc_id           text NOT NULL,
  capabilities    text[] NOT NULL,
  alive           bool NOT NULL,
  running         bool NOT NULL,
  assignment_id   uuid,
  error_rule      text,
  error_until     timestamptz,
  error_condition text,
  held_until      timestamptz,
  heard_at        timestamptz,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL
) WITH (fillfactor = 70);
COMMENT ON COLUMN device_rows.heard_at IS 'The last sign of life that an event tells of; telemetry knows later ones.';
COMMENT ON COLUMN device_rows.assignment_id IS 'What holds its slot: offered, sent, running or about to be retried.';
CREATE UNIQUE INDEX device_rows_serial_number ON device_rows (serial_number);
-- In the order of serial numbers, all of them or those of a PC or a group. By bytes, so that a prefix is a range.
CREATE INDEX device_rows_serial ON device_rows (serial_number COLLATE "C");
CREATE INDEX device_rows_pc_id ON device_rows (pc_id, serial_number COLLATE "C");
CREATE INDEX device_rows_group_id ON device_rows (group_id, serial_number COLLATE "C");
CREATE INDEX device_rows_in_error ON device_rows (serial_number COLLATE "C") WHERE error_rule IS NOT NULL;

-- The ACTIVE job's counters change with every batch.
CREATE TABLE job_rows (
  id               uuid PRIMARY KEY,
  title            text,
  target_url       text NOT NULL,
  script_type      text NOT NULL,
  duration_min_pct int NOT NULL,
  duration_max_pct int NOT NULL,
  prob_like        int NOT NULL,
  prob_comment     int NOT NULL,
  prob_playlist    int NOT NULL,
  is_active        bool NOT NULL,
  base_reward      float8 NOT NULL,
  target           jsonb,
  status           text NOT NULL,
  needs            text[] NOT NULL,
  created_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  activated_at     timestamptz,
  ended_at         timestamptz,
  paused_for       text,
  end_reason       text,
  pending          int NOT NULL,
  running          int NOT NULL,
  retrying         int NOT NULL,
  completed        int NOT NULL,
  failed           int NOT NULL,
  cancelled        int NOT NULL,
  skipped          int NOT NULL
) WITH (fillfactor = 50);
COMMENT ON COLUMN job_rows.retrying IS 'Failed before and waiting for the next attempt; not counted as pending.';
COMMENT ON COLUMN job_rows.cancelled IS 'Devices whose assignment a person cancelled, or that ended with its job.';
COMMENT ON COLUMN job_rows.skipped IS 'Target devices that were absent when the job ended.';
CREATE INDEX job_rows_status ON job_rows (status, created_at);
CREATE INDEX job_rows_created_at ON job_rows (created_at);
CREATE INDEX job_rows_ended_at ON job_rows (ended_at);

CREATE TABLE assignment_rows (
  id                  uuid PRIMARY KEY,
  job_id              uuid NOT NULL,
  device_id           uuid NOT NULL,
  pc_id               text NOT NULL,
  created_at          timestamptz NOT NULL,
  updated_at          timestamptz NOT NULL,
  status              text NOT NULL,
  phase               text NOT NULL,
  named               bool NOT NULL,
  run                 int NOT NULL,
  attempt             int NOT NULL,
  retry_count         int NOT NULL,
  progress_pct        int NOT NULL,
  ad_playing          bool NOT NULL,
  actual_duration_sec int,
  did_like            bool NOT NULL,
  did_comment         bool NOT NULL,
  did_playlist        bool NOT NULL,
  error_code          text,
  error_message       text,
  timed_out           bool NOT NULL,
  reason              text,
  assigned_at         timestamptz,
  sent_at             timestamptz,
  timeout_at          timestamptz,
  started_at          timestamptz,
  completed_at        timestamptz,
  retry_due_at        timestamptz
) WITH (fillfactor = 70);
-- Progress, the change that comes most often, touches none of these columns.
CREATE INDEX assignment_rows_device ON assignment_rows (device_id, status, assigned_at);
CREATE INDEX assignment_rows_job ON assignment_rows (job_id, status);
CREATE INDEX assignment_rows_job_created_at ON assignment_rows (job_id, created_at, id);
CREATE INDEX assignment_rows_assigned_at ON assignment_rows (assigned_at);
-- What is being executed, and where: exactly the expression that `task_devices` has for its status.
CREATE INDEX assignment_rows_task_status ON assignment_rows
  ((CASE WHEN phase = 'sent' THEN 'claimed' ELSE status END), pc_id);

CREATE TABLE tasks_event (
  id             bigint PRIMARY KEY,
  task_id        uuid NOT NULL,
  task_device_id uuid NOT NULL,
  device_id      uuid NOT NULL,
  pc_id          text NOT NULL,
  attempt        int NOT NULL,
  run            int NOT NULL,
  event_type     text NOT NULL,
  level          text NOT NULL,
  error_code     text,
  message        text,
  due_at         timestamptz,
  screenshot_ref text,
  activity_stack text,
  by             text NOT NULL,
  created_at     timestamptz NOT NULL
);
COMMENT ON COLUMN tasks_event.id IS 'From the place in the log: sequence of the commit * 65536 + line. Grows with time.';
CREATE INDEX tasks_event_task_device_id ON tasks_event (task_device_id);
CREATE INDEX tasks_event_task_id ON tasks_event (task_id, created_at);
CREATE INDEX tasks_event_device_id ON tasks_event (device_id, created_at);
CREATE INDEX tasks_event_created_at ON tasks_event (created_at);

-- Sums over `tasks_event`, kept as it grows: an hour of a large farm has a million of those rows.
CREATE TABLE attempt_minutes (
  minute       timestamptz PRIMARY KEY,
  created      int NOT NULL,
  sent         int NOT NULL,
  started      int NOT NULL,
  succeeded    int NOT NULL,
  failed       int NOT NULL,
  timed_out    int NOT NULL,
  failed_final int NOT NULL,
  rolled_back  int NOT NULL,
  cancelled    int NOT NULL,
  waited_ms    bigint NOT NULL,
  ran_ms       bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON COLUMN attempt_minutes.waited_ms IS 'From offer to start, all that started in this minute together.';
COMMENT ON COLUMN attempt_minutes.ran_ms IS 'From start to end, all that succeeded in this minute together.';
