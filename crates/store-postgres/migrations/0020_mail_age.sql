-- What was sent goes by age: found without reading the rest.
CREATE INDEX mail_age ON mail (created_at) WHERE status <> 'queued';
