-- The last attempts of a delivery: a JSON array, oldest first.
ALTER TABLE webhook_deliveries ADD COLUMN attempt_log TEXT NOT NULL DEFAULT '[]';
