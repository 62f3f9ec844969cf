-- Checkpoints of the past are thinned, daily ones go to the archive, and those of other versions are removed only when no
-- program has written them for long.
ALTER TABLE drover.fold_checkpoints
  ADD COLUMN written_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN is_archived boolean NOT NULL DEFAULT FALSE;
COMMENT ON COLUMN drover.fold_checkpoints.is_archived IS 'The archive has it, so Postgres need not keep it for ever.';
