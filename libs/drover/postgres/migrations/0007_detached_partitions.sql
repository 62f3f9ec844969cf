-- Ranges of positions whose rows the read models no longer have, because an operator detached them. A rebuild does not fold
-- them again, and `drover verify` does not miss them. The detached tables are in `drover_detached` until the operator drops them.
CREATE SCHEMA IF NOT EXISTS drover_detached;
CREATE TABLE drover.detached_partitions (
  context     text NOT NULL,
  "table"     text NOT NULL,
  from_seq    bigint NOT NULL,
  to_seq      bigint NOT NULL,
  name        text NOT NULL UNIQUE,
  until       timestamptz,
  detached_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (context, "table", from_seq)
);
COMMENT ON COLUMN drover.detached_partitions.to_seq IS 'The first commit after the range.';
COMMENT ON COLUMN drover.detached_partitions.name IS 'The name of the detached table in the schema drover_detached.';
COMMENT ON COLUMN drover.detached_partitions.until IS 'The time of the last event in the range; null if the range has none.';
