-- What a key may do, words with commas between them; a key made before could do everything. `old_key_hash` is taken
-- until `old_until`, after a rotation.
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'full';
ALTER TABLE api_keys ADD COLUMN rate_per_minute BIGINT;
ALTER TABLE api_keys ADD COLUMN expires_at BIGINT;
ALTER TABLE api_keys ADD COLUMN old_key_hash TEXT COLLATE "C";
ALTER TABLE api_keys ADD COLUMN old_until BIGINT;
CREATE UNIQUE INDEX api_keys_old_key_hash ON api_keys (old_key_hash) WHERE old_key_hash IS NOT NULL;
CREATE INDEX api_keys_newest ON api_keys (org_id, created_at, id);

CREATE TABLE webhooks (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  user_id TEXT COLLATE "C" NOT NULL,
  name TEXT,
  description TEXT,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,
  active BOOLEAN NOT NULL,
  failures BIGINT NOT NULL,
  paused_until BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX webhooks_newest ON webhooks (org_id, created_at, id);

-- target_id: a webhook; text, so that what is sent elsewhere could be kept here too. event_key: the same event is sent to
-- a target once.
CREATE TABLE webhook_deliveries (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL,
  target_id TEXT COLLATE "C" NOT NULL,
  event_key TEXT COLLATE "C" NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'delivered', 'failed')),
  attempts BIGINT NOT NULL,
  last_status BIGINT,
  last_error TEXT,
  next_at BIGINT NOT NULL,
  give_up_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT webhook_deliveries_event UNIQUE (target_id, event_key)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (target_id, next_at) WHERE status = 'queued';
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (give_up_at) WHERE status = 'queued';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (target_id, created_at, id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

CREATE TABLE auto_subscriptions (
  id TEXT COLLATE "C" PRIMARY KEY,
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  listener_id TEXT COLLATE "C" NOT NULL,
  event_name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT auto_subscriptions_triple UNIQUE (org_id, listener_id, event_name)
);
CREATE INDEX auto_subscriptions_listener ON auto_subscriptions (listener_id);
