-- What a key may do, words with commas between them; a key made before could do everything. `old_key_hash` is taken
-- until `old_until`, after a rotation.
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'full';
ALTER TABLE api_keys ADD COLUMN rate_per_minute INTEGER;
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
ALTER TABLE api_keys ADD COLUMN old_key_hash TEXT;
ALTER TABLE api_keys ADD COLUMN old_until INTEGER;
CREATE UNIQUE INDEX api_keys_old_key_hash ON api_keys (old_key_hash) WHERE old_key_hash IS NOT NULL;
CREATE INDEX api_keys_newest ON api_keys (org_id, created_at, id);
