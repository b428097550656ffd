-- Trees of components that organizations brought. `app` is the folder below `components/`, empty for files elsewhere.
CREATE TABLE registries (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  origin TEXT NOT NULL,
  revision TEXT NOT NULL,
  file_count INTEGER NOT NULL,
  component_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (org_id, name)
) STRICT;

CREATE TABLE registry_files (
  registry_id TEXT NOT NULL REFERENCES registries (id),
  app TEXT NOT NULL,
  path TEXT NOT NULL,
  hash TEXT NOT NULL,
  code TEXT NOT NULL,
  PRIMARY KEY (registry_id, app, path)
) STRICT;

CREATE TABLE registry_components (
  registry_id TEXT NOT NULL REFERENCES registries (id),
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  version TEXT NOT NULL,
  component_type TEXT NOT NULL CHECK (component_type IN ('source', 'action')),
  app TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (registry_id, path)
) STRICT;
CREATE INDEX registry_components_key ON registry_components (key, registry_id);
