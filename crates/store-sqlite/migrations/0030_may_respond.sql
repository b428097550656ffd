-- Code that may answer HTTP requests, beside code that does (uses_respond): its clients wait for the end of the run.
ALTER TABLE artifacts ADD COLUMN may_respond INTEGER NOT NULL DEFAULT 0 CHECK (may_respond IN (0, 1));
