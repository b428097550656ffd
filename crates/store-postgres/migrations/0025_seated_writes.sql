-- Of the settlements that wrote to a source's `$.service.db`, those that went on without its seat: the others know of each other's, and no more than
-- these are looked for when one of them settles. Servers of the release before count theirs among the others.
ALTER TABLE source_writes ADD COLUMN unseated BIGINT NOT NULL DEFAULT 0;
