-- What code sent to the outside, one after the other for each run. `payload` is JSON.
CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('http', 'email', 's3')),
  payload TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  response_status INTEGER,
  last_error TEXT,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  UNIQUE (run_id, position),
  CONSTRAINT final_iff_finished CHECK ((finished_at IS NOT NULL) = (status <> 'queued'))
) STRICT;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE status = 'queued';

ALTER TABLE mail ADD COLUMN html TEXT;
