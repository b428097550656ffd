-- Saved components are found by the hash of their code. A published one that another took the key of stays addressable by its version.
CREATE INDEX components_code_hash ON components (org_id, code_hash, created_at);
ALTER TABLE components ADD COLUMN superseded BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX components_key ON components (org_id, key) WHERE published OR superseded;

-- Earlier states of a registry stay for a while: a row holds from the generation `since` on, up to and without `until`; none: still.
ALTER TABLE registries ADD COLUMN generation BIGINT NOT NULL DEFAULT 1;
ALTER TABLE registry_files ADD COLUMN since BIGINT NOT NULL DEFAULT 1, ADD COLUMN until BIGINT;
ALTER TABLE registry_files DROP CONSTRAINT registry_files_pkey, ADD PRIMARY KEY (registry_id, app, path, since);
ALTER TABLE registry_components ADD COLUMN since BIGINT NOT NULL DEFAULT 1, ADD COLUMN until BIGINT;
ALTER TABLE registry_components DROP CONSTRAINT registry_components_pkey, ADD PRIMARY KEY (registry_id, path, since);

-- What `$.interface.apphook` props listen for, bounded by the engine: an index entry holds 2,700 bytes; an empty event_name: all events of the app.
CREATE TABLE app_hooks (
  owner_id TEXT COLLATE "C" NOT NULL,
  org_id TEXT COLLATE "C" NOT NULL,
  app TEXT COLLATE "C" NOT NULL,
  event_name TEXT COLLATE "C" NOT NULL,
  active BOOLEAN NOT NULL,
  PRIMARY KEY (owner_id, app, event_name)
);
CREATE INDEX app_hooks_event ON app_hooks (org_id, app, event_name);

-- Files that requests to endpoints carried. They go when their time is over.
CREATE TABLE uploads (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  file_name TEXT COLLATE "C" NOT NULL,
  media_type TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX uploads_expire ON uploads (expires_at);
CREATE TABLE upload_parts (
  upload_id TEXT COLLATE "C" NOT NULL REFERENCES uploads (id),
  position BIGINT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (upload_id, position)
);

-- Secrets are sealed under a data key, and that is wrapped under the master key of the id `master_id`.
CREATE TABLE data_keys (
  id TEXT COLLATE "C" PRIMARY KEY,
  master_id TEXT COLLATE "C" NOT NULL,
  wrapped TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
