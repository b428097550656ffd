-- Deferred events wait in the channel `$in`, by when they are due.
CREATE INDEX events_deferred ON events (((metadata::json ->> 'delivery_ts')::bigint)) WHERE name = '$in';
