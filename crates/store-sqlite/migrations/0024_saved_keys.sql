-- A saved component is found by its key also where it was never published.
CREATE INDEX components_saved_key ON components (org_id, key, created_at) WHERE key IS NOT NULL;
