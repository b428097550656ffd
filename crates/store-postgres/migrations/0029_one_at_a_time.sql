-- What the author of a source says of how it runs, and what holds its runs back. One with a `$.service.db` runs one event at a time, in the order of
-- acceptance, so that nothing has to be known of what several runs or servers do to it at once.
ALTER TABLE sources ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sources ADD COLUMN limits TEXT;
UPDATE sources SET limits = '{"concurrency":1,"throttle":null,"in_order":true}'
  WHERE dynamic_props LIKE '%$.service.db%' OR component_id IN (SELECT id FROM components WHERE manifest LIKE '%$.service.db%');
INSERT INTO run_limits (owner_id, limits, window_at, window_runs) SELECT id, limits, 0, 0 FROM sources WHERE limits IS NOT NULL;
-- `source_seats` and `source_writes` are used no more. They stay until no server of the release before can be running.
