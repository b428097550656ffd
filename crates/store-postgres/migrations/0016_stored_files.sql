-- Files of stores, which `dir` props mirror with /tmp. Their contents are uploads that have no end of their own.
CREATE TABLE stored_files (
  org_id TEXT COLLATE "C" NOT NULL,
  store TEXT COLLATE "C" NOT NULL,
  path TEXT COLLATE "C" NOT NULL,
  upload_id TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES uploads (id),
  size BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, store, path)
);
