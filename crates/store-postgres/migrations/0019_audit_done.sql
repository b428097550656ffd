-- A record is written before the change, and marked as done after it.
ALTER TABLE audit ADD COLUMN done BOOLEAN NOT NULL DEFAULT TRUE;
