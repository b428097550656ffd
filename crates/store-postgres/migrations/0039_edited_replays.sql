-- Whether a replay has another event than the run that it replays.
ALTER TABLE replayed_runs ADD COLUMN event_edited BOOLEAN NOT NULL DEFAULT FALSE;
