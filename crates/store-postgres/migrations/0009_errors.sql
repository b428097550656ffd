-- What the error of a failed run is counted under; nothing for runs that failed before.
ALTER TABLE runs ADD COLUMN error_class TEXT;
ALTER TABLE runs ADD COLUMN error_group TEXT;
CREATE INDEX runs_failed ON runs (owner_id, created_at, id, error_class, error_group) WHERE status = 'failed';

CREATE TABLE error_groups (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  owner_id TEXT COLLATE "C" NOT NULL,
  class TEXT NOT NULL,
  step TEXT NOT NULL,
  frame TEXT NOT NULL,
  message TEXT NOT NULL,
  last_run_id TEXT COLLATE "C" NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  count BIGINT NOT NULL
);
CREATE INDEX error_groups_owner ON error_groups (owner_id, last_at, id);
CREATE INDEX error_groups_org ON error_groups (org_id, last_at, id);
CREATE INDEX error_groups_age ON error_groups (last_at);

-- selection, position: JSON. version: counts up with each change.
CREATE TABLE replays (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  owner_id TEXT COLLATE "C" NOT NULL,
  selection TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'paused', 'done', 'cancelled', 'failed')),
  version BIGINT NOT NULL,
  position TEXT NOT NULL,
  total BIGINT,
  replayed BIGINT NOT NULL,
  skipped BIGINT NOT NULL,
  note TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX replays_newest ON replays (org_id, created_at, id);
CREATE INDEX replays_running ON replays (created_at, id) WHERE status = 'running';

-- Which run replays which. A run is replayed once by a replay, whatever happens.
CREATE TABLE replayed_runs (
  replay_id TEXT COLLATE "C" NOT NULL,
  original_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL UNIQUE,
  PRIMARY KEY (replay_id, original_id)
);
CREATE INDEX replayed_runs_original ON replayed_runs (original_id);

-- Domains that stand for endpoints. The id is the domain.
CREATE TABLE endpoint_domains (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  endpoint_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX endpoint_domains_newest ON endpoint_domains (org_id, created_at, id);
