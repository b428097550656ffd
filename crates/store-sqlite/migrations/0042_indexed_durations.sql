-- How long a run took, beside its words: a search for the slow ones reads no rows of runs.
ALTER TABLE indexed_runs ADD COLUMN duration_ms INTEGER;
UPDATE indexed_runs SET duration_ms = (SELECT finished_at - started_at FROM runs WHERE runs.id = run_id) WHERE is_ended = 1;
