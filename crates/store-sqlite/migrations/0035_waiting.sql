-- How many runs of an owner with limits wait, kept as they come and go: who accepts behind `queue_max` reads a number and not a queue.
ALTER TABLE run_limits ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
UPDATE run_limits SET waiting = (SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND runs.owner_id = run_limits.owner_id);
CREATE TRIGGER run_waits AFTER INSERT ON runs WHEN NEW.status = 'queued' BEGIN
  UPDATE run_limits SET waiting = waiting + 1 WHERE owner_id = NEW.owner_id;
END;
CREATE TRIGGER run_waits_again AFTER UPDATE OF status ON runs WHEN NEW.status = 'queued' AND OLD.status <> 'queued' BEGIN
  UPDATE run_limits SET waiting = waiting + 1 WHERE owner_id = NEW.owner_id;
END;
CREATE TRIGGER run_waits_no_more AFTER UPDATE OF status ON runs WHEN NEW.status <> 'queued' AND OLD.status = 'queued' BEGIN
  UPDATE run_limits SET waiting = waiting - 1 WHERE owner_id = NEW.owner_id;
END;
CREATE TRIGGER waiting_run_goes AFTER DELETE ON runs WHEN OLD.status = 'queued' BEGIN
  UPDATE run_limits SET waiting = waiting - 1 WHERE owner_id = OLD.owner_id;
END;
-- Those under way are counted at each claim: without a look at all that wait behind them.
CREATE INDEX runs_under_way ON runs (owner_id) WHERE status = 'running';
