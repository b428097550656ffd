-- People sign in with an address and a password, and are members of organizations. Users that were there before are owners who cannot sign in yet.
CREATE TABLE logins (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  -- In lower case.
  email TEXT NOT NULL UNIQUE,
  -- A PHC string of argon2id; none: only another provider signs this person in.
  password_hash TEXT,
  changed_at INTEGER NOT NULL
) STRICT;

-- Who a provider of OpenID Connect says that a person is.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT;

CREATE TABLE members (
  org_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, user_id)
) STRICT;
CREATE INDEX members_user ON members (user_id);
INSERT INTO members (org_id, user_id, role, created_at) SELECT org_id, id, 'owner', created_at FROM users;

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL REFERENCES users (id),
  org_id TEXT NOT NULL REFERENCES organizations (id),
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_ended ON sessions (expires_at);

-- Links that work once: first visits, invitations, resets of passwords.
CREATE TABLE links (
  id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('setup', 'invitation', 'reset')),
  org_id TEXT NOT NULL REFERENCES organizations (id),
  -- For whom; none: for somebody who has the address.
  user_id TEXT REFERENCES users (id),
  email TEXT NOT NULL,
  role TEXT,
  made_by TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX links_newest ON links (org_id, created_at, id);
CREATE INDEX links_ended ON links (expires_at);
