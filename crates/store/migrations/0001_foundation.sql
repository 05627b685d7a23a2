-- What every other table leans on: the store's own identity, the leader, the outbox, the audit trail, replays.
-- TEXT and BIGINT only; times in microseconds; flags 0/1; JSON as text. One text for SQLite and PostgreSQL.

CREATE TABLE store_identity (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  store_id TEXT NOT NULL,
  incarnation BIGINT NOT NULL CHECK (incarnation >= 1)
);

CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  epoch BIGINT NOT NULL CHECK (epoch >= 1),
  renewals BIGINT NOT NULL,
  until_us BIGINT NOT NULL
);

-- Rows are inserted with seq NULL by whoever commits the change; the leader numbers them densely.
CREATE TABLE events (
  id TEXT PRIMARY KEY,
  seq BIGINT UNIQUE CHECK (seq >= 1),
  noun TEXT NOT NULL,
  change TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  object_version BIGINT NOT NULL CHECK (object_version >= 1),
  tenant_id TEXT,
  project_id TEXT,
  state_from TEXT,
  state_to TEXT,
  reason TEXT,
  at_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_one_per_version ON events (subject_id, object_version);
CREATE INDEX events_unnumbered ON events (at_us, id) WHERE seq IS NULL;
CREATE INDEX events_by_tenant ON events (tenant_id, seq);

CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  seq BIGINT UNIQUE CHECK (seq >= 1),
  actor TEXT NOT NULL,
  token_id TEXT,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  tenant_id TEXT,
  request_id TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  prev_hash TEXT,
  hash TEXT
);
CREATE INDEX audit_unnumbered ON audit (at_us, id) WHERE seq IS NULL;
CREATE INDEX audit_by_tenant ON audit (tenant_id, seq);

-- The answer to a create or action, kept so that a retry after any crash gets the same bytes.
CREATE TABLE idempotency (
  principal_id TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status BIGINT NOT NULL,
  answer TEXT NOT NULL,
  etag TEXT,
  location TEXT,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (principal_id, idempotency_key)
);
CREATE INDEX idempotency_by_age ON idempotency (at_us);
