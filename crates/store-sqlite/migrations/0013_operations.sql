-- How much history of a workflow or source is kept, where it is not what the server says.
CREATE TABLE retentions (
  owner_id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  keep_days INTEGER,
  keep_count INTEGER
) STRICT, WITHOUT ROWID;

-- Settled runs by status; a run enters once, when it ends. Other states have indexes of their own.
CREATE INDEX runs_ended ON runs (owner_id, status, created_at, id) WHERE status IN ('succeeded', 'cancelled');
-- The summaries of all streams leave errors and tests out; without this, an emitter of nothing else would be read to its end.
CREATE INDEX events_shown ON events (emitter_id, ordinal) WHERE name <> '$errors' AND name <> '$test';

CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  created_at INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  fields TEXT NOT NULL,
  request_id TEXT NOT NULL
) STRICT;
CREATE INDEX audit_newest ON audit (org_id, created_at, id);
CREATE INDEX audit_age ON audit (created_at);

CREATE TABLE oauth_clients (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  secret_hash TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_clients_newest ON oauth_clients (org_id, created_at, id);

CREATE TABLE oauth_tokens (
  token_hash TEXT PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_tokens_client ON oauth_tokens (client_id);
CREATE INDEX oauth_tokens_ended ON oauth_tokens (expires_at);
