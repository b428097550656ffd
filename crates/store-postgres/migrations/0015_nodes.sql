-- Servers that share the database tell each other what they change: in the change's own transaction, by triggers, so that no change can be
-- forgotten. Only what changes seldom: transactions that notify commit one after the other.
CREATE FUNCTION millrace_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('millrace_changed', TG_ARGV[0]);
  RETURN NULL;
END $$;

CREATE FUNCTION millrace_owner_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('millrace_changed', 'owner ' || coalesce(NEW.id, OLD.id));
  RETURN NULL;
END $$;

CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON sources FOR EACH ROW EXECUTE FUNCTION millrace_owner_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON workflows FOR EACH ROW EXECUTE FUNCTION millrace_owner_changed();
-- Statements that change nothing fire no triggers of rows.
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON subscriptions FOR EACH ROW EXECUTE FUNCTION millrace_changed('listeners');
CREATE TRIGGER changed AFTER INSERT OR DELETE ON webhooks FOR EACH ROW EXECUTE FUNCTION millrace_changed('listeners');
CREATE TRIGGER turned AFTER UPDATE ON webhooks FOR EACH ROW WHEN (OLD.active <> NEW.active) EXECUTE FUNCTION millrace_changed('listeners');
CREATE TRIGGER changed AFTER UPDATE OR DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION millrace_changed('callers');
CREATE TRIGGER changed AFTER DELETE ON oauth_tokens FOR EACH ROW EXECUTE FUNCTION millrace_changed('callers');
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON endpoint_domains FOR EACH ROW EXECUTE FUNCTION millrace_changed('domains');

-- The servers that use the database, by the database's clock.
CREATE TABLE nodes (
  id TEXT COLLATE "C" PRIMARY KEY,
  alive_until TIMESTAMPTZ NOT NULL
);
CREATE TRIGGER changed AFTER INSERT OR DELETE ON nodes FOR EACH ROW EXECUTE FUNCTION millrace_changed('nodes');

-- How many settlements wrote to a source's `$.service.db`: a server that keeps a copy of it sees that another wrote.
CREATE TABLE source_writes (
  source_id TEXT COLLATE "C" PRIMARY KEY,
  count BIGINT NOT NULL
);

-- Until when a server refreshes an account's token: the others wait for it.
ALTER TABLE accounts ADD COLUMN refreshing_until BIGINT;
