-- A large event that several runs have is stored once: `runs.shared_event` names it, and `runs.event` is empty. It goes with the last run that names it.
CREATE TABLE shared_events (
  id TEXT COLLATE "C" PRIMARY KEY,
  event TEXT NOT NULL
);
ALTER TABLE runs ADD COLUMN shared_event TEXT COLLATE "C";
CREATE INDEX runs_shared_event ON runs (shared_event) WHERE shared_event IS NOT NULL;

-- The rows are locked, in order, before it is looked who else names them: of two transactions that take the last two runs, the second sees that the first
-- did.
CREATE FUNCTION millrace_shared_events_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM shared_events WHERE id IN (SELECT shared_event FROM gone WHERE shared_event IS NOT NULL) ORDER BY id FOR UPDATE;
  IF FOUND THEN
    DELETE FROM shared_events WHERE id IN (SELECT shared_event FROM gone) AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.shared_event = shared_events.id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER shared_events_go AFTER DELETE ON runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION millrace_shared_events_go();

CREATE FUNCTION millrace_shared_event_left() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM shared_events WHERE id = OLD.shared_event FOR UPDATE;
  DELETE FROM shared_events WHERE id = OLD.shared_event AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.shared_event = OLD.shared_event);
  RETURN NULL;
END $$;
CREATE TRIGGER shared_event_left AFTER UPDATE OF shared_event ON runs FOR EACH ROW
  WHEN (OLD.shared_event IS NOT NULL AND NEW.shared_event IS NULL) EXECUTE FUNCTION millrace_shared_event_left();
