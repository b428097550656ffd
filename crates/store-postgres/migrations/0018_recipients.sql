-- Where mails about errors go for the whole organization: a JSON list of addresses; none: to the owner.
ALTER TABLE organizations ADD COLUMN error_recipients TEXT NOT NULL DEFAULT '[]';
