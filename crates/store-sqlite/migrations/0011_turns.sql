-- Owners take turns when runs are claimed: what waits is found by owner, oldest first.
DROP INDEX runs_unfinished;
CREATE INDEX runs_unfinished ON runs (owner_id, created_at, id) WHERE status IN ('queued', 'running');
