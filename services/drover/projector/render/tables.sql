-- The render queue's rows. Clients read them through `views.sql`; `render_queue_audit` and `events` are shown as they
-- are. Progress and leases, the changes that come most often, are in no index.

CREATE TABLE render_rows (
  id                int PRIMARY KEY,
  composition_id    text NOT NULL,
  composition_name  text NOT NULL,
  cue_item_id       text,
  broadcast_date    date NOT NULL,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  stage_since       timestamptz NOT NULL,
  status            text NOT NULL,
  run               int NOT NULL,
  generation        int NOT NULL,
  worker_id         text,
  lock_expires_at   timestamptz,
  nexrender_job_id  text,
  progress          int NOT NULL,
  output_file_path  text,
  output_size_bytes bigint,
  output_sha256     text,
  error_code        text,
  error_message     text,
  recovery_count    int NOT NULL,
  retry_due_at      timestamptz,
  unmapped_fields   text[] NOT NULL,
  started_at        timestamptz,
  completed_at      timestamptz,
  duration_seconds  float8,
  preparing_seconds float8,
  rendering_seconds float8,
  encoding_seconds  float8,
  uploading_seconds float8
) WITH (fillfactor = 70);
COMMENT ON COLUMN render_rows.stage_since IS 'When it came to its status.';
COMMENT ON COLUMN render_rows.generation IS 'Which job at nexrender it is, counted from 1.';
COMMENT ON COLUMN render_rows.preparing_seconds IS 'Spent there so far by this generation, stays that are over; null: it was never there.';
CREATE INDEX render_rows_status ON render_rows (status, created_at);
CREATE INDEX render_rows_created_at ON render_rows (created_at);
CREATE INDEX render_rows_completed_at ON render_rows (completed_at);
CREATE INDEX render_rows_composition_id ON render_rows (composition_id, created_at);
CREATE INDEX render_rows_cue_item_id ON render_rows (cue_item_id);
CREATE INDEX render_rows_broadcast_date ON render_rows (broadcast_date, created_at);

-- Apart from its render: it is large and never changes, a render's row changes dozens of times.
CREATE TABLE render_gfx (
  id       int PRIMARY KEY,
  gfx_id   text NOT NULL,
  gfx_data text NOT NULL
);
COMMENT ON COLUMN render_gfx.gfx_data IS 'Sealed, for the subject gfx_id. No key to it is in this database.';

CREATE TABLE render_queue_audit (
  id              bigint PRIMARY KEY,
  render_queue_id int NOT NULL,
  status_from     text,
  status_to       text NOT NULL,
  worker_id       text,
  changed_at      timestamptz NOT NULL,
  changed_by      text NOT NULL,
  reason          text
);
COMMENT ON COLUMN render_queue_audit.id IS 'From the place in the log: sequence of the commit * 65536 + line. Grows with time.';
COMMENT ON COLUMN render_queue_audit.status_from IS 'Null: it was requested.';
COMMENT ON COLUMN render_queue_audit.worker_id IS 'Who has it, or had it until then.';
CREATE INDEX render_queue_audit_render_queue_id ON render_queue_audit (render_queue_id, id);
CREATE INDEX render_queue_audit_changed_at ON render_queue_audit (changed_at);

CREATE TABLE composition_rows (
  id            text PRIMARY KEY,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  name          text NOT NULL,
  template      text NOT NULL,
  output_module text NOT NULL,
  mapping_ids   int[] NOT NULL
);

CREATE TABLE field_rows (
  id             int PRIMARY KEY,
  composition_id text NOT NULL,
  field_name     text NOT NULL,
  layer_name     text NOT NULL,
  kind           text NOT NULL,
  property       text NOT NULL,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL
);
CREATE UNIQUE INDEX field_rows_composition_id ON field_rows (composition_id, field_name);
