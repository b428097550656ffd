-- Organizations take turns: the oldest that waits of each is found without a look at all that waits.
CREATE INDEX deliveries_turns ON deliveries (org_id, next_at, id) WHERE status = 'queued';
CREATE INDEX mail_turns ON mail (org_id, next_at, id) WHERE status = 'queued';
