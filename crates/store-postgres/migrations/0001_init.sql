-- Times are epoch milliseconds. JSON is TEXT. Ids are TEXT with their prefix; they, and whatever else orders a list,
-- are compared byte by byte (COLLATE "C"), as SQLite does, whatever the database's own collation is.
-- Where this schema differs from SQLite's, a comment says why.

CREATE TABLE organizations (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT NOT NULL,
  orgname TEXT NOT NULL,
  email TEXT NOT NULL,
  project_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT organizations_orgname UNIQUE (orgname)
);

CREATE TABLE users (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  username TEXT NOT NULL,
  email TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  key_hash TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT api_keys_key_hash UNIQUE (key_hash)
);

-- code: BYTEA, because TEXT refuses U+0000, which a built module may hold and must hold unchanged (its id is its hash).
CREATE TABLE artifacts (
  id TEXT COLLATE "C" PRIMARY KEY,
  code BYTEA NOT NULL,
  source_map TEXT,
  package_lock TEXT NOT NULL,
  uses_respond BOOLEAN NOT NULL
);

-- code: BYTEA as above.
CREATE TABLE components (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  code BYTEA NOT NULL,
  code_hash TEXT NOT NULL,
  url TEXT,
  component_type TEXT NOT NULL CHECK (component_type IN ('source', 'action')),
  key TEXT COLLATE "C",
  manifest TEXT NOT NULL,
  artifact_id TEXT COLLATE "C" NOT NULL REFERENCES artifacts (id),
  published BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX components_published_key ON components (org_id, key) WHERE published;
CREATE INDEX components_newest ON components (org_id, created_at, id);

CREATE TABLE sources (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  user_id TEXT COLLATE "C" NOT NULL,
  component_id TEXT COLLATE "C" NOT NULL REFERENCES components (id),
  name TEXT NOT NULL,
  name_slug TEXT COLLATE "C" NOT NULL,
  configured_props TEXT NOT NULL,
  active BOOLEAN NOT NULL,
  inactive_reason TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT sources_name_slug UNIQUE (org_id, name_slug),
  CONSTRAINT active_has_no_reason CHECK (NOT active OR inactive_reason IS NULL)
);
CREATE INDEX sources_newest ON sources (org_id, created_at, id);

CREATE TABLE source_states (
  source_id TEXT COLLATE "C" PRIMARY KEY,
  version BIGINT NOT NULL,
  dedupe TEXT NOT NULL
);

-- key: BYTEA, because the author's code may use any key, U+0000 included; unique by its hash, because an index entry
-- of Postgres holds at most 2,700 bytes.
CREATE TABLE source_db (
  source_id TEXT COLLATE "C" NOT NULL,
  key BYTEA NOT NULL,
  value TEXT NOT NULL
);
CREATE UNIQUE INDEX source_db_entry ON source_db (source_id, sha256(key));

-- position: the order in which an owner's interfaces were given (SQLite: rowid).
CREATE TABLE http_interfaces (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  owner_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  custom_response BOOLEAN NOT NULL,
  active BOOLEAN NOT NULL,
  CONSTRAINT http_interfaces_key UNIQUE (key)
);
CREATE INDEX http_interfaces_owner ON http_interfaces (owner_id);

CREATE TABLE timers (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  owner_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  schedule TEXT NOT NULL,
  next_at BIGINT NOT NULL,
  active BOOLEAN NOT NULL
);
CREATE INDEX timers_owner ON timers (owner_id);
CREATE INDEX timers_due ON timers (next_at) WHERE active;

CREATE TABLE workflows (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  project_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  name_slug TEXT COLLATE "C" NOT NULL,
  active BOOLEAN NOT NULL,
  draft TEXT NOT NULL,
  deployment_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT workflows_name_slug UNIQUE (org_id, name_slug),
  CONSTRAINT active_is_deployed CHECK (NOT active OR deployment_id IS NOT NULL)
);
CREATE INDEX workflows_newest ON workflows (org_id, created_at, id);

CREATE TABLE deployments (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  workflow_id TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  content TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT deployments_version UNIQUE (workflow_id, version)
);

CREATE TABLE subscriptions (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  emitter_id TEXT COLLATE "C" NOT NULL,
  listener_id TEXT COLLATE "C" NOT NULL,
  event_name TEXT COLLATE "C" NOT NULL,
  from_trigger BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT subscriptions_once UNIQUE (org_id, emitter_id, listener_id, event_name)
);
CREATE INDEX subscriptions_listener ON subscriptions (listener_id);

CREATE TABLE runs (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  owner_id TEXT COLLATE "C" NOT NULL,
  deployment_id TEXT COLLATE "C",
  kind TEXT NOT NULL CHECK (kind IN ('live', 'test', 'hook')),
  trigger_id TEXT COLLATE "C" NOT NULL,
  event TEXT NOT NULL,
  context TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  attempt BIGINT NOT NULL,
  node TEXT,
  lease_until BIGINT,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  result TEXT,
  error TEXT,
  CONSTRAINT final_iff_finished CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
  CONSTRAINT leased_iff_running CHECK ((lease_until IS NOT NULL) = (status = 'running')),
  CONSTRAINT failed_has_error CHECK (status <> 'failed' OR error IS NOT NULL)
);
CREATE INDEX runs_owner ON runs (owner_id, created_at, id);
CREATE INDEX runs_unfinished ON runs (created_at, id) WHERE status IN ('queued', 'running');
-- For pruning only; a BRIN index costs an insert next to nothing. SQLite has none and scans.
CREATE INDEX runs_age ON runs USING brin (created_at);

-- seq: the order of writing among lines of the same millisecond (SQLite: rowid).
CREATE TABLE logs (
  run_id TEXT COLLATE "C" NOT NULL,
  line BIGINT NOT NULL,
  seq BIGINT GENERATED ALWAYS AS IDENTITY,
  owner_id TEXT COLLATE "C" NOT NULL,
  org_id TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (run_id, line)
);
CREATE INDEX logs_owner ON logs (owner_id, at, seq);

-- ordinal: milliseconds and sequence of the event's id in one integer.
CREATE TABLE events (
  emitter_id TEXT COLLATE "C" NOT NULL,
  ordinal BIGINT NOT NULL,
  org_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  emit_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  metadata TEXT NOT NULL,
  PRIMARY KEY (emitter_id, ordinal)
);
-- The start of the name only: an index entry of Postgres holds at most 2,700 bytes.
CREATE INDEX events_stream ON events (emitter_id, left(name, 200), ordinal);
-- A stream of all names leaves errors out; without this, an emitter of nothing but errors would be read to its end.
CREATE INDEX events_not_errors ON events (emitter_id, ordinal) WHERE name <> '$errors';
CREATE INDEX events_age ON events USING brin (ordinal);

CREATE TABLE error_notices (
  owner_id TEXT COLLATE "C" NOT NULL,
  class TEXT COLLATE "C" NOT NULL,
  last_at BIGINT NOT NULL,
  since_last BIGINT NOT NULL,
  PRIMARY KEY (owner_id, class)
);

CREATE TABLE mail (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'sent', 'failed')),
  attempts BIGINT NOT NULL,
  last_error TEXT,
  next_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX mail_due ON mail (next_at) WHERE status = 'queued';
CREATE INDEX mail_newest ON mail (org_id, created_at, id);
