-- The id of the commit at each checkpoint's position: it tells tables of another log apart. Null: written before.
ALTER TABLE drover.checkpoints ADD COLUMN commit_id text;
