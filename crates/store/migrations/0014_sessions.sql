-- People in browsers: their sessions, who they are at an identity provider, and what its groups gave them.

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  principal_id TEXT NOT NULL REFERENCES principals (id),
  -- What the session may do is what this token may do; it ends with it.
  token_id TEXT NOT NULL REFERENCES tokens (id),
  -- The token was made for this session and is nobody's otherwise: it ends with the session.
  owns_token BIGINT NOT NULL CHECK (owns_token IN (0, 1)),
  created_us BIGINT NOT NULL,
  -- When it was last used, not to the minute.
  seen_us BIGINT NOT NULL,
  expires_us BIGINT NOT NULL,
  ended_us BIGINT,
  CHECK (expires_us > created_us)
);
CREATE INDEX sessions_by_token ON sessions (token_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_us);

CREATE TABLE external_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  principal_id TEXT NOT NULL REFERENCES principals (id),
  -- The role over the platform that rules gave, as long as they give it.
  platform_role TEXT CHECK (platform_role IN ('platform_operator', 'operator_read_only')),
  created_us BIGINT NOT NULL,
  seen_us BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject)
);
-- One person has one account at a provider: whoever gets an old address there does not get the old roles here.
CREATE UNIQUE INDEX external_identities_by_principal ON external_identities (principal_id, issuer);

-- Memberships that rules gave; what people gave is not here, and rules leave it alone.
CREATE TABLE ruled_members (
  member_id TEXT PRIMARY KEY REFERENCES members (id),
  principal_id TEXT NOT NULL REFERENCES principals (id)
);
CREATE INDEX ruled_members_by_principal ON ruled_members (principal_id);
