-- The fleet's read model. What clients see are the views; last_seen_at comes from telemetry and is no part of verify.
CREATE TABLE pc_rows (
  id         text PRIMARY KEY,
  capacity   int NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE TABLE device_rows (
  id            uuid PRIMARY KEY,
  serial_number text NOT NULL,
  group_id      text NOT NULL,
  pc_id         text NOT NULL,
  status        text NOT NULL,
  capabilities  text[] NOT NULL,
  heard_at      timestamptz,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL
) WITH (fillfactor = 70);
COMMENT ON COLUMN device_rows.heard_at IS 'The last sign of life that an event tells of; telemetry knows later ones.';
-- None on status: it has four values and changes most, and without one such a change stays on its page (HOT).
CREATE UNIQUE INDEX device_rows_serial_number ON device_rows (serial_number);
CREATE INDEX device_rows_pc_id ON device_rows (pc_id);
CREATE INDEX device_rows_group_id ON device_rows (group_id);

CREATE VIEW devices AS
SELECT d.id, d.serial_number, d.group_id, d.pc_id, d.status, d.capabilities,
       greatest(d.heard_at, p.last_seen_at) AS last_seen_at, d.created_at, d.updated_at
FROM device_rows d LEFT JOIN tel_fleet.presence p ON p.device_id = d.id;

CREATE VIEW pcs AS
SELECT pc.id, pc.capacity, pc.created_at, pc.updated_at, d.*
FROM pc_rows pc CROSS JOIN LATERAL (
  SELECT count(*) AS devices,
         count(*) FILTER (WHERE status = 'online') AS online,
         count(*) FILTER (WHERE status = 'offline') AS offline,
         count(*) FILTER (WHERE status = 'busy') AS busy,
         count(*) FILTER (WHERE status = 'error') AS error
  FROM device_rows WHERE pc_id = pc.id
) d;
