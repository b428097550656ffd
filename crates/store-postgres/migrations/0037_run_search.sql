-- The index of texts of runs. It is made behind the runs, and holds none of their texts: words only.
CREATE TABLE indexed_runs (
  run_id TEXT COLLATE "C" PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  org_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  is_ended BOOLEAN NOT NULL,
  words TSVECTOR NOT NULL
);
CREATE INDEX indexed_runs_open ON indexed_runs (run_id) WHERE NOT is_ended;
CREATE INDEX indexed_runs_newest ON indexed_runs (org_id, created_at, run_id);
-- Few words wait to be merged: a search reads all that wait.
CREATE INDEX indexed_runs_words ON indexed_runs USING GIN (words) WITH (gin_pending_list_limit = 256);

-- How far the index of an organization has come: all runs behind the newest are looked at as they come; the sweep goes from there to the oldest, and again
-- after a while, for those that became visible late.
CREATE TABLE run_index_marks (
  org_id TEXT COLLATE "C" PRIMARY KEY,
  newest_at BIGINT NOT NULL,
  newest_id TEXT COLLATE "C" NOT NULL,
  sweep_at BIGINT,
  sweep_id TEXT COLLATE "C" NOT NULL,
  swept_at BIGINT
);
