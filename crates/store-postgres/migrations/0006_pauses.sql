-- A run may be `paused`. NOT VALID: no stored row breaks a check that allows more, so none needs to be read.
ALTER TABLE runs DROP CONSTRAINT runs_status_check;
ALTER TABLE runs ADD CONSTRAINT runs_status_check CHECK (status IN ('queued', 'running', 'paused', 'succeeded', 'failed', 'cancelled')) NOT VALID;

CREATE INDEX runs_paused ON runs (owner_id, created_at, id) WHERE status = 'paused';

-- What is known of the pause of an attempt. `state` is what the engine needs to go on; none: a request came while the
-- attempt was under way. `wake_at`: when it ends by itself, only while it lasts. `callback`: the request that ends it.
CREATE TABLE pauses (
  run_id TEXT COLLATE "C" NOT NULL,
  attempt BIGINT NOT NULL,
  wake_at BIGINT,
  wake_cancels BOOLEAN NOT NULL,
  state TEXT,
  callback TEXT,
  callback_cancels BOOLEAN NOT NULL,
  PRIMARY KEY (run_id, attempt)
);
CREATE INDEX pauses_due ON pauses (wake_at) WHERE wake_at IS NOT NULL;
