-- Whether a replay has another event than the run that it replays.
ALTER TABLE replayed_runs ADD COLUMN event_edited INTEGER NOT NULL DEFAULT 0 CHECK (event_edited IN (0, 1));
