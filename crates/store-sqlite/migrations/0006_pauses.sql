-- A run may be `paused`. The check is changed where it is written: no row is touched, however many there are, and columns
-- that other migrations add stay. This is the way SQLite documents for constraints that no stored row breaks.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''queued'', ''running'', ''succeeded''', '''queued'', ''running'', ''paused'', ''succeeded''')
 WHERE type = 'table' AND name = 'runs';
PRAGMA writable_schema = RESET;

CREATE INDEX runs_paused ON runs (owner_id, created_at, id) WHERE status = 'paused';

-- What is known of the pause of an attempt. `state` is what the engine needs to go on; none: a request came while the
-- attempt was under way. `wake_at`: when it ends by itself, only while it lasts. `callback`: the request that ends it.
CREATE TABLE pauses (
  run_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  wake_at INTEGER,
  wake_cancels INTEGER NOT NULL CHECK (wake_cancels IN (0, 1)),
  state TEXT,
  callback TEXT,
  callback_cancels INTEGER NOT NULL CHECK (callback_cancels IN (0, 1)),
  PRIMARY KEY (run_id, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX pauses_due ON pauses (wake_at) WHERE wake_at IS NOT NULL;
