-- States of a registry's tree: of each the revision of its origin, when it was indexed, and of the latest what could not be; no count: it was indexed before that was kept.
CREATE TABLE registry_updates (
  registry_id TEXT NOT NULL REFERENCES registries (id) ON DELETE CASCADE,
  generation INTEGER NOT NULL,
  revision TEXT NOT NULL,
  indexed_at INTEGER NOT NULL,
  unindexed_count INTEGER,
  unindexed TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (registry_id, generation)
) STRICT;
INSERT INTO registry_updates (registry_id, generation, revision, indexed_at) SELECT id, generation, revision, updated_at FROM registries;

-- The update that failed since the last that worked.
ALTER TABLE registries ADD COLUMN failed_at INTEGER;
ALTER TABLE registries ADD COLUMN failure TEXT;

-- The registry that a component's code came from, and its state; NULL: from elsewhere, or it was saved before that was kept.
ALTER TABLE components ADD COLUMN registry TEXT;
ALTER TABLE components ADD COLUMN registry_revision TEXT;
ALTER TABLE components ADD COLUMN registry_indexed_at INTEGER;
