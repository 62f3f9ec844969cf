-- The platform's own tables: where each read model stands, and volatile telemetry. Read models make their own schemas.

CREATE TABLE drover.read_models (
  schema     text PRIMARY KEY,
  hash       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE drover.read_models IS 'Which form (hash of DDL and fold version) each schema of derived data has.';

CREATE TABLE drover.checkpoints (
  schema     text NOT NULL,
  partition  text NOT NULL,
  context    text NOT NULL,
  seq        bigint NOT NULL DEFAULT 0,
  n          bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (schema, partition)
) WITH (fillfactor = 50);
COMMENT ON TABLE drover.checkpoints IS 'The last commit (seq) and event (n) whose rows each schema holds. Moves only together with those rows.';

CREATE SCHEMA tel_fleet;

-- Unlogged: a crash of the server empties it, and the next heartbeats fill it again. Roomy pages keep updates in place.
CREATE UNLOGGED TABLE tel_fleet.presence (
  device_id    uuid PRIMARY KEY,
  last_seen_at timestamptz NOT NULL,
  reported     jsonb
) WITH (fillfactor = 50);
COMMENT ON TABLE tel_fleet.presence IS 'The last sign of life of each device and what it said of itself. Volatile, no part of verify.';
