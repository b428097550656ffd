-- Versions of a source: what it runs with from when on, whose change it was, and what that person says of it. The newest is the live one.
CREATE TABLE source_deployments (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  content TEXT NOT NULL,
  made_by TEXT,
  message TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (source_id, version)
) STRICT;
INSERT INTO source_deployments (id, org_id, source_id, version, content, made_by, message, created_at)
  SELECT 'd_' || substr(id, 4), org_id, id, 1,
    '{"component_id":"' || component_id || '","configured_props":' || configured_props || ',"dynamic_props":' || coalesce(dynamic_props, 'null')
      || ',"settings":' || settings || '}',
    user_id, NULL, updated_at
  FROM sources;
