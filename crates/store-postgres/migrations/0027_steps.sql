-- Postgres reads no JSON with an escaped U+0000, which an event's summary may have: the event could not be stored. SQLite reads it. Of an expression still, and
-- no column of its own: a server of the release before, which may be running, would not fill it.
DROP INDEX events_deferred;
CREATE INDEX events_deferred ON events (((replace(metadata, '\u0000', '\ufffd')::json ->> 'delivery_ts')::bigint)) WHERE name = '$in';

-- Dead letters are found without those that were delivered.
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (target_id, created_at, id) WHERE status = 'failed';

-- A store's keys are counted by what it counts itself, less what has ended and is not yet cleared away.
CREATE INDEX data_store_entries_ending ON data_store_entries (store_id, expires_at) WHERE expires_at IS NOT NULL;
