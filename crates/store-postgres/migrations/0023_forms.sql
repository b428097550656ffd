-- What `additionalProps` gave to forms in which props are filled in, for a day.
CREATE TABLE forms (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  artifact_id TEXT COLLATE "C" NOT NULL,
  props TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX forms_by_end ON forms (expires_at);
CREATE INDEX forms_of_organization ON forms (org_id, expires_at);
