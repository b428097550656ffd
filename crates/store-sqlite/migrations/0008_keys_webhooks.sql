-- What a key may do, words with commas between them; a key made before could do everything. `old_key_hash` is taken
-- until `old_until`, after a rotation.
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'full';
ALTER TABLE api_keys ADD COLUMN rate_per_minute INTEGER;
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
ALTER TABLE api_keys ADD COLUMN old_key_hash TEXT;
ALTER TABLE api_keys ADD COLUMN old_until INTEGER;
CREATE UNIQUE INDEX api_keys_old_key_hash ON api_keys (old_key_hash) WHERE old_key_hash IS NOT NULL;
CREATE INDEX api_keys_newest ON api_keys (org_id, created_at, id);

CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL,
  name TEXT,
  description TEXT,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  failures INTEGER NOT NULL,
  paused_until INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_newest ON webhooks (org_id, created_at, id);

-- target_id: a webhook; text, so that what is sent elsewhere could be kept here too. event_key: the same event is sent to
-- a target once.
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  event_key TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  last_status INTEGER,
  last_error TEXT,
  next_at INTEGER NOT NULL,
  give_up_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (target_id, event_key)
) STRICT;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (target_id, next_at) WHERE status = 'queued';
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (give_up_at) WHERE status = 'queued';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (target_id, created_at, id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

CREATE TABLE auto_subscriptions (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organizations (id),
  listener_id TEXT NOT NULL,
  event_name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (org_id, listener_id, event_name)
) STRICT;
CREATE INDEX auto_subscriptions_listener ON auto_subscriptions (listener_id);
