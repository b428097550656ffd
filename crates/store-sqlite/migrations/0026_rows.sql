-- Rows that may be large are found by a number of their own. A table that is kept in the order of its key has whole rows on every way to another row, and
-- each that is passed is read to its end: where one is of megabytes, a write of its neighbour's costs as much.
CREATE TABLE runs_new (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  deployment_id TEXT,
  kind TEXT NOT NULL CHECK (kind = 'live' OR kind = 'test' OR kind = 'hook'),
  trigger_id TEXT NOT NULL,
  event TEXT NOT NULL,
  context TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'queued' OR status = 'running' OR status = 'paused' OR status = 'succeeded' OR status = 'failed' OR status = 'cancelled'),
  attempt INTEGER NOT NULL,
  node TEXT,
  lease_until INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  result TEXT,
  error TEXT,
  error_class TEXT,
  error_group TEXT,
  CONSTRAINT final_iff_finished CHECK ((finished_at IS NOT NULL) = (status = 'succeeded' OR status = 'failed' OR status = 'cancelled')),
  CONSTRAINT leased_iff_running CHECK ((lease_until IS NOT NULL) = (status = 'running')),
  CONSTRAINT failed_has_error CHECK (status <> 'failed' OR error IS NOT NULL)
) STRICT;
INSERT INTO runs_new SELECT * FROM runs ORDER BY id;
DROP TABLE runs;
ALTER TABLE runs_new RENAME TO runs;
CREATE INDEX runs_owner ON runs (owner_id, created_at, id);
CREATE INDEX runs_unfinished ON runs (owner_id, created_at, id) WHERE status IN ('queued', 'running');
CREATE INDEX runs_paused ON runs (owner_id, created_at, id) WHERE status = 'paused';
CREATE INDEX runs_failed ON runs (owner_id, created_at, id, error_class, error_group) WHERE status = 'failed';
CREATE INDEX runs_ended ON runs (owner_id, status, created_at, id) WHERE status IN ('succeeded', 'cancelled');

CREATE TABLE events_new (
  emitter_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  emit_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  metadata TEXT NOT NULL,
  PRIMARY KEY (emitter_id, ordinal)
) STRICT;
INSERT INTO events_new SELECT * FROM events;
DROP TABLE events;
ALTER TABLE events_new RENAME TO events;
CREATE INDEX events_stream ON events (emitter_id, name, ordinal);
CREATE INDEX events_deferred ON events (json_extract(metadata, '$.delivery_ts')) WHERE name = '$in';
CREATE INDEX events_shown ON events (emitter_id, ordinal) WHERE name <> '$errors' AND name <> '$test';

CREATE TABLE source_db_new (
  source_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (source_id, key)
) STRICT;
INSERT INTO source_db_new SELECT * FROM source_db;
DROP TABLE source_db;
ALTER TABLE source_db_new RENAME TO source_db;

CREATE TABLE pauses_new (
  run_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  wake_at INTEGER,
  wake_cancels INTEGER NOT NULL CHECK (wake_cancels IN (0, 1)),
  state TEXT,
  callback TEXT,
  callback_cancels INTEGER NOT NULL CHECK (callback_cancels IN (0, 1)),
  PRIMARY KEY (run_id, attempt)
) STRICT;
INSERT INTO pauses_new SELECT * FROM pauses;
DROP TABLE pauses;
ALTER TABLE pauses_new RENAME TO pauses;
CREATE INDEX pauses_due ON pauses (wake_at) WHERE wake_at IS NOT NULL;
