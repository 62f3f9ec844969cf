-- When each API key was last used. Told by the processes that verify keys; no part of the log, nor of verify.
CREATE SCHEMA tel_identity;

-- Logged, unlike signs of life: a key that is used once a month must not look unused after a crash.
CREATE TABLE tel_identity.key_uses (
  key_id       uuid PRIMARY KEY,
  last_used_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE tel_identity.key_uses IS 'When each API key was last used, to the minute.';
