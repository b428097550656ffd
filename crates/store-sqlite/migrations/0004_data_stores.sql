-- `keys` and `bytes` count what the store holds, ended entries included, so that a write need not.
CREATE TABLE data_stores (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  keys INTEGER NOT NULL CHECK (keys >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (org_id, name)
) STRICT;
CREATE INDEX data_stores_newest ON data_stores (org_id, created_at, id);

-- `value` is JSON; `bytes` those of key and value.
CREATE TABLE data_store_entries (
  store_id TEXT NOT NULL REFERENCES data_stores (id),
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (store_id, key)
) STRICT;
CREATE INDEX data_store_entries_ended ON data_store_entries (expires_at) WHERE expires_at IS NOT NULL;
