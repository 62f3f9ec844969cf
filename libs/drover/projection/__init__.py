"""Read models in Postgres, folded from the log: runtime, checkpoints, positions. The projections live in services."""
