-- Files of stores, which `dir` props mirror with /tmp. Their contents are uploads that have no end of their own.
CREATE TABLE stored_files (
  org_id TEXT NOT NULL,
  store TEXT NOT NULL,
  path TEXT NOT NULL,
  upload_id TEXT NOT NULL UNIQUE REFERENCES uploads (id),
  size INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, store, path)
) STRICT;
