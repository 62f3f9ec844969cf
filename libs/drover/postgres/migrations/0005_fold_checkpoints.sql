-- States of the past, one every so many events, so that any moment is a short fold away. A cache: the log has it all.
CREATE TABLE drover.fold_checkpoints (
  context   text NOT NULL,
  partition text NOT NULL,
  version   text NOT NULL,
  seq       bigint NOT NULL,
  n         bigint NOT NULL,
  at        timestamptz NOT NULL,
  image     bytea NOT NULL,
  PRIMARY KEY (context, partition, version, seq)
);
CREATE INDEX fold_checkpoints_at ON drover.fold_checkpoints (context, partition, version, at);
