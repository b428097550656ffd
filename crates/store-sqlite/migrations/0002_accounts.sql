-- Apps that organizations registered; the catalogue ships with the program. `definition` is JSON.
CREATE TABLE apps (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  name_slug TEXT NOT NULL,
  definition TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX apps_name_slug ON apps (org_id, name_slug);

-- `credentials` are sealed under the master key.
CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  app TEXT NOT NULL,
  name TEXT NOT NULL,
  credentials TEXT NOT NULL,
  healthy INTEGER NOT NULL CHECK (healthy IN (0, 1)),
  problem TEXT,
  expires_at INTEGER,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX accounts_newest ON accounts (org_id, created_at, id);

-- Definitions that `additionalProps` gave when the source was configured, JSON; none: those of its component.
ALTER TABLE sources ADD COLUMN dynamic_props TEXT;
