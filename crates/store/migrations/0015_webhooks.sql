-- Webhooks: where a tenant's events, or the platform's, are sent; what signs them; and how every delivery went.

CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  -- Nobody's but the platform's when absent.
  tenant_id TEXT REFERENCES tenants (id),
  -- Only events of this project.
  project_id TEXT REFERENCES projects (id),
  url TEXT NOT NULL CHECK (LENGTH(url) BETWEEN 1 AND 2000),
  description TEXT,
  -- JSON; every event when empty.
  event_types TEXT NOT NULL,
  enabled BIGINT NOT NULL CHECK (enabled IN (0, 1)),
  disabled_why TEXT,
  -- Events up to here were taken on: each that was wanted has its delivery.
  taken_seq BIGINT NOT NULL CHECK (taken_seq >= 0),
  -- Events up to here are sent again though they have a delivery.
  replay_seq BIGINT NOT NULL DEFAULT 0,
  -- The first failure since anything was delivered.
  failing_since_us BIGINT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  CHECK (enabled = 0 OR disabled_why IS NULL)
);
CREATE INDEX webhooks_by_tenant ON webhooks (tenant_id, id);
CREATE INDEX webhooks_enabled ON webhooks (taken_seq) WHERE enabled = 1;

-- What signs. The newest has no end; the one before signs beside it until its end. Read by whoever signs and nobody else.
CREATE TABLE webhook_secrets (
  webhook_id TEXT NOT NULL REFERENCES webhooks (id),
  made_in_version BIGINT NOT NULL,
  secret TEXT NOT NULL,
  until_us BIGINT,
  PRIMARY KEY (webhook_id, made_in_version)
);

-- Outlives its webhook until it is pruned: there may be many.
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  -- The event's number, once it has one.
  event_seq BIGINT,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'exhausted')),
  attempts BIGINT NOT NULL,
  -- Attempts since it was last asked for.
  tries BIGINT NOT NULL CHECK (tries BETWEEN 0 AND attempts),
  next_us BIGINT,
  created_us BIGINT NOT NULL,
  ended_us BIGINT,
  UNIQUE (webhook_id, event_id),
  CHECK ((next_us IS NULL) = (state IN ('delivered', 'exhausted'))),
  CHECK ((ended_us IS NULL) = (next_us IS NOT NULL))
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (webhook_id, event_seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_again ON webhook_deliveries (webhook_id, next_us) WHERE state = 'failed';
CREATE INDEX webhook_deliveries_unnumbered ON webhook_deliveries (event_id) WHERE event_seq IS NULL;
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_us, id);

-- Webhooks that were removed and whose deliveries are not all forgotten yet.
CREATE TABLE webhooks_gone (
  webhook_id TEXT PRIMARY KEY
);

CREATE TABLE webhook_attempts (
  delivery_id TEXT NOT NULL REFERENCES webhook_deliveries (id),
  number BIGINT NOT NULL CHECK (number >= 1),
  at_us BIGINT NOT NULL,
  duration_us BIGINT NOT NULL,
  status BIGINT,
  error TEXT,
  body TEXT NOT NULL,
  PRIMARY KEY (delivery_id, number)
);
