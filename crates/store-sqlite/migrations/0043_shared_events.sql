-- A large event that several runs have is stored once: `runs.shared_event` names it, and `runs.event` is empty. It goes with the last run that names it.
CREATE TABLE shared_events (
  id TEXT PRIMARY KEY,
  event TEXT NOT NULL
);
ALTER TABLE runs ADD COLUMN shared_event TEXT;
CREATE INDEX runs_shared_event ON runs (shared_event) WHERE shared_event IS NOT NULL;

CREATE TRIGGER shared_event_goes AFTER DELETE ON runs WHEN OLD.shared_event IS NOT NULL BEGIN
  DELETE FROM shared_events WHERE id = OLD.shared_event AND NOT EXISTS (SELECT 1 FROM runs WHERE shared_event = OLD.shared_event);
END;
CREATE TRIGGER shared_event_left AFTER UPDATE OF shared_event ON runs WHEN OLD.shared_event IS NOT NULL BEGIN
  DELETE FROM shared_events WHERE id = OLD.shared_event AND NOT EXISTS (SELECT 1 FROM runs WHERE shared_event = OLD.shared_event);
END;
