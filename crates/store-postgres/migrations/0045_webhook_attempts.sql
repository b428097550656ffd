-- The last attempts of a delivery, oldest first; each is JSON.
ALTER TABLE webhook_deliveries ADD COLUMN attempt_log TEXT[] NOT NULL DEFAULT '{}';
