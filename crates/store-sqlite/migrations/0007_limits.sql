-- What holds the runs of a workflow back in the queue, JSON, and the window that its throttle counts in. Most have none.
CREATE TABLE run_limits (
  owner_id TEXT PRIMARY KEY,
  limits TEXT NOT NULL,
  window_at INTEGER NOT NULL,
  window_runs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
