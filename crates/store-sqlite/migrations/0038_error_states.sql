-- State of a group of errors. state_at: when it changed last; nothing: it never did.
ALTER TABLE error_groups ADD COLUMN state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'resolved', 'ignored', 'regressed'));
ALTER TABLE error_groups ADD COLUMN state_at INTEGER;
ALTER TABLE error_groups ADD COLUMN note TEXT;

-- Changes of the state, numbered for each group. user_id: nothing where the server made it, of the run that failed.
CREATE TABLE error_group_changes (
  group_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'resolved', 'ignored', 'regressed')),
  user_id TEXT,
  note TEXT,
  run_id TEXT,
  PRIMARY KEY (group_id, seq)
) STRICT;

-- What a person prefers in an organization. value: JSON text.
CREATE TABLE user_preferences (
  user_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, org_id)
) STRICT;

-- Filters of the audit log.
CREATE INDEX audit_user ON audit (org_id, user_id, created_at, id);
CREATE INDEX audit_target ON audit (org_id, target, created_at, id) WHERE target IS NOT NULL;
