-- How much history of a workflow or source is kept, where it is not what the server says.
CREATE TABLE retentions (
  owner_id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  keep_days BIGINT,
  keep_count BIGINT
);

-- Settled runs by status; a run enters once, when it ends. Other states have indexes of their own.
CREATE INDEX runs_ended ON runs (owner_id, status, created_at, id) WHERE status IN ('succeeded', 'cancelled');
-- History is pruned owner by owner: what these were for.
DROP INDEX runs_age;
DROP INDEX events_age;

CREATE TABLE audit (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  created_at BIGINT NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  fields TEXT NOT NULL,
  request_id TEXT NOT NULL
);
CREATE INDEX audit_newest ON audit (org_id, created_at, id);
CREATE INDEX audit_age ON audit (created_at);

CREATE TABLE oauth_clients (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  secret_hash TEXT COLLATE "C" NOT NULL,
  scopes TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX oauth_clients_newest ON oauth_clients (org_id, created_at, id);

CREATE TABLE oauth_tokens (
  token_hash TEXT COLLATE "C" PRIMARY KEY,
  client_id TEXT COLLATE "C" NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
  scopes TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX oauth_tokens_client ON oauth_tokens (client_id);
CREATE INDEX oauth_tokens_ended ON oauth_tokens (expires_at);
