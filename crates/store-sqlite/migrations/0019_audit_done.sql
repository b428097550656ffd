-- A record is written before the change, and marked as done after it.
ALTER TABLE audit ADD COLUMN done INTEGER NOT NULL DEFAULT 1;
