-- What needed a person, and whether it still does. Every context has its own.
CREATE TABLE alert_rows (
  id          text PRIMARY KEY,
  kind        text NOT NULL,
  subject     text NOT NULL,
  message     text NOT NULL,
  details     jsonb NOT NULL,
  raised_at   timestamptz NOT NULL,
  until       timestamptz,
  resolved_at timestamptz,
  reason      text
);
CREATE INDEX alert_rows_open ON alert_rows (raised_at) WHERE resolved_at IS NULL;
CREATE INDEX alert_rows_raised_at ON alert_rows (raised_at);
CREATE INDEX alert_rows_subject ON alert_rows (subject, raised_at);
CREATE INDEX alert_rows_kind ON alert_rows (kind, raised_at);

CREATE VIEW alerts AS
SELECT id, kind, subject, message, details, raised_at, until, resolved_at, reason
FROM alert_rows;
