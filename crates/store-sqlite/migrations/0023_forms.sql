-- What `additionalProps` gave to forms in which props are filled in, for a day.
CREATE TABLE forms (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  artifact_id TEXT NOT NULL,
  props TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forms_by_end ON forms (expires_at);
CREATE INDEX forms_of_organization ON forms (org_id, expires_at);
