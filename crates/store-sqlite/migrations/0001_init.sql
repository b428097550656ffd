-- Times are epoch milliseconds. JSON is TEXT. Ids are TEXT with their prefix.

CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  orgname TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL,
  project_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  username TEXT NOT NULL,
  email TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  name TEXT NOT NULL,
  key_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  source_map TEXT,
  package_lock TEXT NOT NULL,
  uses_respond INTEGER NOT NULL CHECK (uses_respond IN (0, 1))
) STRICT;

CREATE TABLE components (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  code TEXT NOT NULL,
  code_hash TEXT NOT NULL,
  url TEXT,
  component_type TEXT NOT NULL CHECK (component_type IN ('source', 'action')),
  key TEXT,
  manifest TEXT NOT NULL,
  artifact_id TEXT NOT NULL REFERENCES artifacts (id),
  published INTEGER NOT NULL CHECK (published IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX components_published_key ON components (org_id, key) WHERE published = 1;
CREATE INDEX components_newest ON components (org_id, created_at, id);

CREATE TABLE sources (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL,
  component_id TEXT NOT NULL REFERENCES components (id),
  name TEXT NOT NULL,
  name_slug TEXT NOT NULL,
  configured_props TEXT NOT NULL,
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  inactive_reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (org_id, name_slug),
  CONSTRAINT active_has_no_reason CHECK (active = 0 OR inactive_reason IS NULL)
) STRICT;
CREATE INDEX sources_newest ON sources (org_id, created_at, id);

CREATE TABLE source_states (
  source_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  dedupe TEXT NOT NULL
) STRICT;

CREATE TABLE source_db (
  source_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (source_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE http_interfaces (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  key TEXT NOT NULL UNIQUE,
  custom_response INTEGER NOT NULL CHECK (custom_response IN (0, 1)),
  active INTEGER NOT NULL CHECK (active IN (0, 1))
) STRICT;
CREATE INDEX http_interfaces_owner ON http_interfaces (owner_id);

CREATE TABLE timers (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  schedule TEXT NOT NULL,
  next_at INTEGER NOT NULL,
  active INTEGER NOT NULL CHECK (active IN (0, 1))
) STRICT;
CREATE INDEX timers_owner ON timers (owner_id);
CREATE INDEX timers_due ON timers (next_at) WHERE active = 1;

CREATE TABLE workflows (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  name_slug TEXT NOT NULL,
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  draft TEXT NOT NULL,
  deployment_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (org_id, name_slug),
  CONSTRAINT active_is_deployed CHECK (active = 0 OR deployment_id IS NOT NULL)
) STRICT;
CREATE INDEX workflows_newest ON workflows (org_id, created_at, id);

CREATE TABLE deployments (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (workflow_id, version)
) STRICT;

CREATE TABLE subscriptions (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  emitter_id TEXT NOT NULL,
  listener_id TEXT NOT NULL,
  event_name TEXT NOT NULL,
  from_trigger INTEGER NOT NULL CHECK (from_trigger IN (0, 1)),
  created_at INTEGER NOT NULL,
  UNIQUE (org_id, emitter_id, listener_id, event_name)
) STRICT;
CREATE INDEX subscriptions_listener ON subscriptions (listener_id);

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  deployment_id TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('live', 'test', 'hook')),
  trigger_id TEXT NOT NULL,
  event TEXT NOT NULL,
  context TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  attempt INTEGER NOT NULL,
  node TEXT,
  lease_until INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  result TEXT,
  error TEXT,
  CONSTRAINT final_iff_finished CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
  CONSTRAINT leased_iff_running CHECK ((lease_until IS NOT NULL) = (status = 'running')),
  CONSTRAINT failed_has_error CHECK (status <> 'failed' OR error IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_owner ON runs (owner_id, created_at, id);
CREATE INDEX runs_unfinished ON runs (created_at, id) WHERE status IN ('queued', 'running');

CREATE TABLE logs (
  run_id TEXT NOT NULL,
  line INTEGER NOT NULL,
  owner_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (run_id, line)
) STRICT;
CREATE INDEX logs_owner ON logs (owner_id, at);

-- ordinal: milliseconds and sequence of the event's id in one integer.
CREATE TABLE events (
  emitter_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  emit_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  metadata TEXT NOT NULL,
  PRIMARY KEY (emitter_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_stream ON events (emitter_id, name, ordinal);

CREATE TABLE error_notices (
  owner_id TEXT NOT NULL,
  class TEXT NOT NULL,
  last_at INTEGER NOT NULL,
  since_last INTEGER NOT NULL,
  PRIMARY KEY (owner_id, class)
) STRICT, WITHOUT ROWID;

CREATE TABLE mail (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'sent', 'failed')),
  attempts INTEGER NOT NULL,
  last_error TEXT,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mail_due ON mail (next_at) WHERE status = 'queued';
CREATE INDEX mail_newest ON mail (org_id, created_at, id);
