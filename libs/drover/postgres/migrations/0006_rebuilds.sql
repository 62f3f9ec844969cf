-- Rebuilds of read models, as people look at them: how far, what differed, how they ended. A note, no truth: the log has it all.
CREATE TABLE drover.rebuilds (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  projection text NOT NULL,
  by         text NOT NULL,
  dry_run    boolean NOT NULL,
  stage      text NOT NULL DEFAULT 'folding',
  folded     bigint NOT NULL DEFAULT 0,
  events     bigint,
  positions  jsonb,
  tables     jsonb,
  error      text,
  started_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  ended_at   timestamptz
);
COMMENT ON COLUMN drover.rebuilds.stage IS 'folding, comparing, swapping; then swapped, dropped or failed.';
COMMENT ON COLUMN drover.rebuilds.updated_at IS 'Moves every few seconds while it works: one that stands still has died.';
