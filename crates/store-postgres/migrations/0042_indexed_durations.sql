-- How long a run took, beside its words: a search for the slow ones reads no rows of runs.
ALTER TABLE indexed_runs ADD COLUMN duration_ms BIGINT;
UPDATE indexed_runs SET duration_ms = finished_at - started_at FROM runs WHERE runs.id = run_id AND is_ended;
