-- `keys` and `bytes` count what the store holds, ended entries included, so that a write need not.
CREATE TABLE data_stores (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  name TEXT COLLATE "C" NOT NULL,
  keys BIGINT NOT NULL CHECK (keys >= 0),
  bytes BIGINT NOT NULL CHECK (bytes >= 0),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT data_stores_name UNIQUE (org_id, name)
);
CREATE INDEX data_stores_newest ON data_stores (org_id, created_at, id);

-- `value` is JSON; `bytes` those of key and value. key: BYTEA, because the author's code may use any key, U+0000
-- included; unique by its hash and ordered by its start, because an index entry of Postgres holds at most 2,700 bytes.
CREATE TABLE data_store_entries (
  store_id TEXT COLLATE "C" NOT NULL REFERENCES data_stores (id),
  key BYTEA NOT NULL,
  value TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  expires_at BIGINT
);
CREATE UNIQUE INDEX data_store_entries_entry ON data_store_entries (store_id, sha256(key));
CREATE INDEX data_store_entries_order ON data_store_entries (store_id, substring(key FROM 1 FOR 1000));
CREATE INDEX data_store_entries_ended ON data_store_entries (expires_at) WHERE expires_at IS NOT NULL;
