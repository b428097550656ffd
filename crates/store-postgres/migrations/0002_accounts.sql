-- Apps that organizations registered; the catalogue ships with the program. `definition` is JSON.
CREATE TABLE apps (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  name_slug TEXT COLLATE "C" NOT NULL,
  definition TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT apps_name_slug UNIQUE (org_id, name_slug)
);

-- `credentials` are sealed under the master key.
CREATE TABLE accounts (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  app TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  credentials TEXT NOT NULL,
  healthy BOOLEAN NOT NULL,
  problem TEXT,
  expires_at BIGINT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX accounts_newest ON accounts (org_id, created_at, id);

-- Definitions that `additionalProps` gave when the source was configured, JSON; none: those of its component.
ALTER TABLE sources ADD COLUMN dynamic_props TEXT;
