-- The external user (of a program that uses `/v1/connect`) whose an account or source is; null: the organization's own.
ALTER TABLE accounts ADD COLUMN external_user_id TEXT;
ALTER TABLE sources ADD COLUMN external_user_id TEXT;
CREATE INDEX accounts_of_external_user ON accounts (org_id, external_user_id, created_at, id) WHERE external_user_id IS NOT NULL;
CREATE INDEX sources_of_external_user ON sources (org_id, external_user_id, created_at, id) WHERE external_user_id IS NOT NULL;
