-- Saved components are found by the hash of their code. A published one that another took the key of stays addressable by its version.
CREATE INDEX components_code_hash ON components (org_id, code_hash, created_at);
ALTER TABLE components ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1));
CREATE INDEX components_key ON components (org_id, key) WHERE published = 1 OR superseded = 1;

-- Earlier states of a registry stay for a while: a row holds from the generation `since` on, up to and without `until`; none: still.
ALTER TABLE registries ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
ALTER TABLE registry_files RENAME TO registry_files_before;
CREATE TABLE registry_files (
  registry_id TEXT NOT NULL REFERENCES registries (id),
  app TEXT NOT NULL,
  path TEXT NOT NULL,
  hash TEXT NOT NULL,
  code TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  PRIMARY KEY (registry_id, app, path, since)
) STRICT;
INSERT INTO registry_files SELECT registry_id, app, path, hash, code, 1, NULL FROM registry_files_before;
DROP TABLE registry_files_before;
ALTER TABLE registry_components RENAME TO registry_components_before;
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
  since INTEGER NOT NULL,
  until INTEGER,
  PRIMARY KEY (registry_id, path, since)
) STRICT;
INSERT INTO registry_components SELECT registry_id, path, key, name, description, version, component_type, app, hash, 1, NULL FROM registry_components_before;
DROP TABLE registry_components_before;
CREATE INDEX registry_components_key ON registry_components (key, registry_id);

-- What `$.interface.apphook` props listen for; an empty event_name: all events of the app.
CREATE TABLE app_hooks (
  owner_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  app TEXT NOT NULL,
  event_name TEXT NOT NULL,
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  PRIMARY KEY (owner_id, app, event_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX app_hooks_event ON app_hooks (org_id, app, event_name);

-- Files that requests to endpoints carried. They go when their time is over.
CREATE TABLE uploads (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  file_name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX uploads_expire ON uploads (expires_at);
CREATE TABLE upload_parts (
  upload_id TEXT NOT NULL REFERENCES uploads (id),
  position INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (upload_id, position)
) STRICT;

-- Secrets are sealed under a data key, and that is wrapped under the master key of the id `master_id`.
CREATE TABLE data_keys (
  id TEXT PRIMARY KEY,
  master_id TEXT NOT NULL,
  wrapped TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
