-- Trees of components that organizations brought. `app` is the folder below `components/`, empty for files elsewhere.
-- code: BYTEA, because TEXT refuses U+0000, which a file may hold. key and path are bounded by the engine: an index entry holds 2,700 bytes.
CREATE TABLE registries (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  name TEXT COLLATE "C" NOT NULL,
  origin TEXT COLLATE "C" NOT NULL,
  revision TEXT COLLATE "C" NOT NULL,
  file_count BIGINT NOT NULL,
  component_count BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT registries_name UNIQUE (org_id, name)
);

CREATE TABLE registry_files (
  registry_id TEXT COLLATE "C" NOT NULL REFERENCES registries (id),
  app TEXT COLLATE "C" NOT NULL,
  path TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL,
  code BYTEA NOT NULL,
  PRIMARY KEY (registry_id, app, path)
);

CREATE TABLE registry_components (
  registry_id TEXT COLLATE "C" NOT NULL REFERENCES registries (id),
  path TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  description TEXT NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  component_type TEXT COLLATE "C" NOT NULL CHECK (component_type IN ('source', 'action')),
  app TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (registry_id, path)
);
CREATE INDEX registry_components_key ON registry_components (key, registry_id);
