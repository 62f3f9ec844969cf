-- Alarms and users. The key of an alarm has its user in it: partitions are divided by user, and none must touch
-- another's rows, even if two users' programs gave their pages the same id.
CREATE TABLE alarm_rows (
  user_id              text NOT NULL,
  page_id              text NOT NULL,
  title                text NOT NULL,
  body                 text NOT NULL,
  next_alarm_time      timestamptz NOT NULL,
  sent_count           int NOT NULL,
  last_notification_id text,
  processed_at         timestamptz,
  recover_at           timestamptz,
  retry_at             timestamptz,
  attempt              int NOT NULL,
  shift_min            int NOT NULL,
  last_error           text,
  last_sent_at         timestamptz,
  created_at           timestamptz NOT NULL,
  updated_at           timestamptz NOT NULL,
  PRIMARY KEY (user_id, page_id)
) WITH (fillfactor = 70);
CREATE INDEX alarm_rows_page_id ON alarm_rows (page_id);
CREATE INDEX alarm_rows_next_alarm_time ON alarm_rows (next_alarm_time, page_id);
CREATE INDEX alarm_rows_processed_at ON alarm_rows (processed_at) WHERE processed_at IS NOT NULL;
CREATE INDEX alarm_rows_failing ON alarm_rows (next_alarm_time, page_id) WHERE last_error IS NOT NULL;

CREATE TABLE user_rows (
  user_id    text PRIMARY KEY,
  timezone   text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Without what is secret about them: that is sealed, in the log.
CREATE TABLE subscription_rows (
  id         text NOT NULL,
  user_id    text NOT NULL,
  channel    text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at   timestamptz,
  reason     text,
  PRIMARY KEY (user_id, id)
);

CREATE TABLE alarms_event (
  id              bigint PRIMARY KEY,
  page_id         text NOT NULL,
  user_id         text NOT NULL,
  sent_count      int,
  attempt         int,
  idempotency_key text,
  event_type      text NOT NULL,
  level           text NOT NULL,
  error_code      text,
  message         text,
  due_at          timestamptz,
  notification_id text,
  by              text NOT NULL,
  created_at      timestamptz NOT NULL
);
COMMENT ON COLUMN alarms_event.id IS 'From the place in the log: sequence of the commit * 65536 + line. Grows with time.';
CREATE INDEX alarms_event_page_id ON alarms_event (page_id, created_at);
CREATE INDEX alarms_event_user_id ON alarms_event (user_id, created_at);
CREATE INDEX alarms_event_created_at ON alarms_event (created_at);
CREATE INDEX alarms_event_event_type ON alarms_event (event_type, created_at);
