-- The log as rows, one for each event. Few indices on purpose: this table takes every event there is.
CREATE TABLE events (
  seq      bigint NOT NULL,
  line     int NOT NULL,
  n        bigint NOT NULL,
  at       timestamptz NOT NULL,
  type     text NOT NULL,
  by       text NOT NULL,
  cause    text NOT NULL,
  trace    text,
  entities text[] NOT NULL,
  data     jsonb NOT NULL,
  PRIMARY KEY (seq, line)
);
CREATE INDEX events_at ON events USING brin (at);
