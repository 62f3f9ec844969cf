-- People and their sessions. No address in clear, no password, no token: those who open the address ask `account_rows`.
CREATE TABLE account_rows (
  id              uuid PRIMARY KEY,
  email_sealed    text NOT NULL,
  role            text NOT NULL,
  disabled        bool NOT NULL,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  last_sign_in_at timestamptz
);
CREATE INDEX account_rows_created_at ON account_rows (created_at, id);

CREATE TABLE session_rows (
  id           uuid PRIMARY KEY,
  account_id   uuid NOT NULL,
  user_agent   text NOT NULL,
  started_at   timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  ended_at     timestamptz,
  reason       text
) WITH (fillfactor = 80);
CREATE INDEX session_rows_account_id ON session_rows (account_id);

CREATE VIEW accounts AS
SELECT id, role, disabled, created_at, updated_at, last_sign_in_at FROM account_rows;

CREATE VIEW sessions AS
SELECT id, account_id, user_agent, started_at, last_used_at, expires_at, ended_at, reason FROM session_rows;
