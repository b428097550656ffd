-- What code sent to the outside, one after the other for each run. `payload` is JSON.
CREATE TABLE deliveries (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  owner_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('http', 'email', 's3')),
  payload TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'delivered', 'failed')),
  attempts BIGINT NOT NULL,
  response_status BIGINT,
  last_error TEXT,
  next_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  CONSTRAINT deliveries_position UNIQUE (run_id, position),
  CONSTRAINT final_iff_finished CHECK ((finished_at IS NOT NULL) = (status <> 'queued'))
);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE status = 'queued';

ALTER TABLE mail ADD COLUMN html TEXT;
