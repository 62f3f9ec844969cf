-- Several forms of a read model stand side by side, each in its own schema. One that nobody uses for a day is dropped.
ALTER TABLE drover.read_models
  ADD COLUMN used_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN added text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN drover.read_models.used_at IS 'When a projector or a reader last said that it uses the schema.';
COMMENT ON COLUMN drover.read_models.added IS 'Columns (table.column) that were added in place: null in rows of earlier events, until a rebuild.';

ALTER TABLE drover.checkpoints ADD COLUMN caught_up_at timestamptz;
COMMENT ON COLUMN drover.checkpoints.caught_up_at IS 'When the partition reached the end of the log. Null: the schema is being built, and nobody may read it.';
