-- Signs of life of render workers, and what each says it has in hand. Volatile, like those of devices.
CREATE SCHEMA tel_render;

CREATE UNLOGGED TABLE tel_render.workers (
  worker_id    text PRIMARY KEY,
  last_seen_at timestamptz NOT NULL,
  render_id    int,
  run          int,
  progress     int
) WITH (fillfactor = 50);
COMMENT ON TABLE tel_render.workers IS 'The last sign of life of each render worker, busy or idle. Volatile, no part of verify.';
