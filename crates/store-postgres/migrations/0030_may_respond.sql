-- Code that may answer HTTP requests, beside code that does (uses_respond): its clients wait for the end of the run.
ALTER TABLE artifacts ADD COLUMN may_respond BOOLEAN NOT NULL DEFAULT FALSE;
