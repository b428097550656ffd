-- Dead letters are found without those that were delivered.
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (target_id, created_at, id) WHERE status = 'failed';

-- A store's keys are counted by what it counts itself, less what has ended and is not yet cleared away.
CREATE INDEX data_store_entries_ending ON data_store_entries (store_id, expires_at) WHERE expires_at IS NOT NULL;
