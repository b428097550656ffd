-- How many runs of an owner with limits wait: who accepts behind `queue_max` reads a number and not a queue. What comes and goes is a row of its own in
-- `run_waiting`, so that transactions of one owner do not wait for each other; whoever locks the owner's limits next adds them up (`limits.rs`).
-- `counted_at`: when all that wait were last counted; NULL: they never were, and nothing is written down.
ALTER TABLE run_limits ADD COLUMN waiting BIGINT NOT NULL DEFAULT 0;
ALTER TABLE run_limits ADD COLUMN counted_at TIMESTAMPTZ;
CREATE TABLE run_waiting (
  owner_id TEXT COLLATE "C" NOT NULL,
  change INTEGER NOT NULL
);
CREATE INDEX run_waiting_owner ON run_waiting (owner_id);

CREATE FUNCTION millrace_run_waits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO run_waiting (owner_id, change)
    SELECT owner_id, CASE WHEN TG_OP <> 'DELETE' AND NEW.status = 'queued' THEN 1 ELSE -1 END
    FROM run_limits WHERE owner_id = coalesce(NEW.owner_id, OLD.owner_id) AND counted_at IS NOT NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER waits AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.status = 'queued') EXECUTE FUNCTION millrace_run_waits();
CREATE TRIGGER waits_or_not AFTER UPDATE OF status ON runs FOR EACH ROW WHEN ((NEW.status = 'queued') <> (OLD.status = 'queued')) EXECUTE FUNCTION millrace_run_waits();
CREATE TRIGGER waiting_goes AFTER DELETE ON runs FOR EACH ROW WHEN (OLD.status = 'queued') EXECUTE FUNCTION millrace_run_waits();
-- Those under way are counted at each claim: without a look at all that wait behind them.
CREATE INDEX runs_under_way ON runs (owner_id) WHERE status = 'running';
