"""Read models in Postgres, computed from the log: runtime, checkpoints, positions. The projections themselves are in
the services."""
