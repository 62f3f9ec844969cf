-- Rows of analyses. User ids only: nothing here says who somebody is.

CREATE TABLE user_rows (
  id              text PRIMARY KEY,
  tier            text NOT NULL,
  remaining_tests int NOT NULL,
  frozen          bool NOT NULL,
  granted         bigint NOT NULL,
  charged         bigint NOT NULL,
  refunded        bigint NOT NULL,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL
) WITH (fillfactor = 70);
COMMENT ON COLUMN user_rows.granted IS 'All that was ever given, the first lot included: remaining = granted - charged + refunded.';
CREATE INDEX user_rows_tier ON user_rows (tier);

CREATE TABLE test_rows (
  id             uuid PRIMARY KEY,
  user_id        text NOT NULL,
  status         text NOT NULL,
  reason         text,
  error_code     text,
  error_message  text,
  result_ref     text,
  refunded       bool NOT NULL,
  cleanup_run_id uuid,
  skipped        text,
  late_report    text,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  completed_at   timestamptz
) WITH (fillfactor = 70);
COMMENT ON COLUMN test_rows.skipped IS 'Why its failure could not be made good when that was last tried.';
COMMENT ON COLUMN test_rows.late_report IS 'What a worker said of it after its end, without effect.';
CREATE INDEX test_rows_user_id ON test_rows (user_id, created_at);
CREATE INDEX test_rows_status ON test_rows (status, created_at);
CREATE INDEX test_rows_created_at ON test_rows (created_at);
CREATE INDEX test_rows_completed_at ON test_rows (completed_at);

CREATE TABLE run_rows (
  id                   uuid PRIMARY KEY,
  trigger              text NOT NULL,
  by                   text NOT NULL,
  status               text NOT NULL,
  scheduled_for        timestamptz,
  started_before       timestamptz NOT NULL,
  tiers_started_before jsonb NOT NULL,
  cleaned_count        int NOT NULL,
  skipped_count        int NOT NULL,
  users_count          int NOT NULL,
  duration_ms          bigint,
  started_at           timestamptz NOT NULL,
  finished_at          timestamptz
);
CREATE INDEX run_rows_started_at ON run_rows (started_at);

-- What each cleanup found, and what became of it.
CREATE TABLE cleanup_run_tests (
  id         bigint PRIMARY KEY,
  run_id     uuid NOT NULL,
  test_id    uuid NOT NULL,
  user_id    text NOT NULL,
  outcome    text NOT NULL,
  reason     text,
  created_at timestamptz NOT NULL
);
COMMENT ON COLUMN cleanup_run_tests.id IS 'From the place in the log: sequence of the commit * 65536 + line.';
CREATE INDEX cleanup_run_tests_run_id ON cleanup_run_tests (run_id, id);
CREATE INDEX cleanup_run_tests_test_id ON cleanup_run_tests (test_id);

-- Every change of what a user has left: the sum of `amount` is `remaining_tests`.
CREATE TABLE test_ledger (
  id              bigint PRIMARY KEY,
  user_id         text NOT NULL,
  kind            text NOT NULL,
  amount          int NOT NULL,
  remaining_tests int NOT NULL,
  test_id         uuid,
  cleanup_run_id  uuid,
  by              text NOT NULL,
  created_at      timestamptz NOT NULL
);
COMMENT ON COLUMN test_ledger.id IS 'From the place in the log: sequence of the commit * 65536 + line.';
CREATE INDEX test_ledger_user_id ON test_ledger (user_id, id);
CREATE INDEX test_ledger_test_id ON test_ledger (test_id) WHERE test_id IS NOT NULL;
