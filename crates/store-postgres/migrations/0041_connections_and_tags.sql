-- Accounts that somebody is about to connect at their provider, and what came of it.
CREATE TABLE connections (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  app TEXT NOT NULL,
  external_user_id TEXT,
  state TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX connections_by_end ON connections (expires_at);
-- What people say of a workflow, and by which they find it; not part of its versions.
ALTER TABLE workflows ADD COLUMN note TEXT;
ALTER TABLE workflows ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
