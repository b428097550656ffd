-- The index of texts of runs. It is made behind the runs, and holds none of their texts: words only.
-- number: milliseconds of the run's acceptance times 4096, and what tells runs of one millisecond apart.
CREATE TABLE indexed_runs (
  number INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  is_ended INTEGER NOT NULL CHECK (is_ended IN (0, 1))
) STRICT;
CREATE INDEX indexed_runs_open ON indexed_runs (run_id) WHERE is_ended = 0;
CREATE VIRTUAL TABLE run_words USING fts5 (words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'");
CREATE TRIGGER indexed_run_goes AFTER DELETE ON runs BEGIN
  DELETE FROM run_words WHERE rowid = (SELECT number FROM indexed_runs WHERE run_id = OLD.id);
  DELETE FROM indexed_runs WHERE run_id = OLD.id;
END;

-- How far the index of an organization has come: all runs behind the newest are looked at as they come; the sweep goes from there to the oldest, and again
-- after a while, for those that became visible late.
CREATE TABLE run_index_marks (
  org_id TEXT PRIMARY KEY,
  newest_at INTEGER NOT NULL,
  newest_id TEXT NOT NULL,
  sweep_at INTEGER,
  sweep_id TEXT NOT NULL,
  swept_at INTEGER
) STRICT;
