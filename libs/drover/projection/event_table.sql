-- The log as rows, one for each event. Every event there is comes by here, so each index is paid for by all of them:
-- keys are hashed (8 bytes instead of 40), and the time stands for the place, which settles what is equal in it.
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
CREATE INDEX events_at ON events (at);
CREATE INDEX events_type ON events (hashtextextended(type, 0), at);
CREATE INDEX events_by ON events (hashtextextended(by, 0), at);
CREATE INDEX events_cause ON events (hashtextextended(cause, 0));
-- By what it is about, in the order of time. Not GIN: it would cost half as much and give what it finds in no order, so
-- that the newest of a job with 100,000 events could not be had without reading all of them.
CREATE INDEX events_entity_1 ON events (hashtextextended(entities[1], 0), at) WHERE entities[1] IS NOT NULL;
CREATE INDEX events_entity_2 ON events (hashtextextended(entities[2], 0), at) WHERE entities[2] IS NOT NULL;
CREATE INDEX events_entity_3 ON events (hashtextextended(entities[3], 0), at) WHERE entities[3] IS NOT NULL;
CREATE INDEX events_entity_4 ON events (hashtextextended(entities[4], 0), at) WHERE entities[4] IS NOT NULL;
