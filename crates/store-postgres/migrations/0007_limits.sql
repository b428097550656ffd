-- What holds the runs of a workflow back in the queue, JSON, and the window that its throttle counts in. Most have none.
-- Who claims such runs, or counts them, locks the row: so the limits hold however many servers there are.
CREATE TABLE run_limits (
  owner_id TEXT COLLATE "C" PRIMARY KEY,
  limits TEXT NOT NULL,
  window_at BIGINT NOT NULL,
  window_runs BIGINT NOT NULL
);
