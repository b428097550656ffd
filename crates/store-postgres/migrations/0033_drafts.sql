-- A draft has a revision, which counts its changes, and says when and by whom it was changed last.
ALTER TABLE workflows ADD COLUMN revision BIGINT NOT NULL DEFAULT 1;
ALTER TABLE workflows ADD COLUMN draft_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workflows ADD COLUMN draft_by TEXT;
UPDATE workflows SET draft_at = updated_at;
-- Who deployed a version, and what that person says of it.
ALTER TABLE deployments ADD COLUMN made_by TEXT;
ALTER TABLE deployments ADD COLUMN message TEXT;
-- The step that wrote a line; none: the run of a source, or what the server adds.
ALTER TABLE logs ADD COLUMN step TEXT;
-- The same of what it sent.
ALTER TABLE deliveries ADD COLUMN step TEXT;
-- A link that works once, sealed under the master key: it is in the mail that is sent, and not in the outbox that members read.
ALTER TABLE mail ADD COLUMN link TEXT;
