-- People sign in with an address and a password, and are members of organizations. Users that were there before are owners who cannot sign in yet.
CREATE TABLE logins (
  user_id TEXT COLLATE "C" PRIMARY KEY REFERENCES users (id),
  -- In lower case.
  email TEXT COLLATE "C" NOT NULL CONSTRAINT logins_email UNIQUE,
  -- A PHC string of argon2id; none: only another provider signs this person in.
  password_hash TEXT,
  changed_at BIGINT NOT NULL
);

-- Who a provider of OpenID Connect says that a person is.
CREATE TABLE identities (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject)
);

CREATE TABLE members (
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, user_id)
);
CREATE INDEX members_user ON members (user_id);
INSERT INTO members (org_id, user_id, role, created_at) SELECT org_id, id, 'owner', created_at FROM users;

CREATE TABLE sessions (
  id TEXT COLLATE "C" PRIMARY KEY,
  token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_ended ON sessions (expires_at);

-- Links that work once: first visits, invitations, resets of passwords.
CREATE TABLE links (
  id TEXT COLLATE "C" PRIMARY KEY,
  token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('setup', 'invitation', 'reset')),
  org_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
  -- For whom; none: for somebody who has the address.
  user_id TEXT COLLATE "C" REFERENCES users (id),
  email TEXT COLLATE "C" NOT NULL,
  role TEXT COLLATE "C",
  made_by TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX links_newest ON links (org_id, created_at, id);
CREATE INDEX links_ended ON links (expires_at);

CREATE TRIGGER changed AFTER UPDATE OR DELETE ON members FOR EACH ROW EXECUTE FUNCTION millrace_changed('callers');
CREATE TRIGGER ended AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION millrace_changed('callers');
-- Not each time that one is used.
CREATE TRIGGER switched AFTER UPDATE OF org_id ON sessions FOR EACH ROW EXECUTE FUNCTION millrace_changed('callers');
