-- Deferred events wait in the channel `$in`, by when they are due.
CREATE INDEX events_deferred ON events (json_extract(metadata, '$.delivery_ts')) WHERE name = '$in';
