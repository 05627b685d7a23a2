-- Connections of people to guests, through the gateway: wanted, opened by the guest's host, ended. The replica that has the
-- client says so here, and says again and again that it is alive; one that falls silent has lost its streams.

CREATE TABLE streams (
  id TEXT PRIMARY KEY,
  allocation_id TEXT NOT NULL REFERENCES allocations (id),
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  kind TEXT NOT NULL CHECK (kind IN ('ssh', 'console')),
  state TEXT NOT NULL CHECK (state IN ('wanted', 'open', 'ended')),
  principal_id TEXT NOT NULL,
  token_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  came_from TEXT NOT NULL,
  replica TEXT NOT NULL,
  agent_address TEXT,
  wanted_us BIGINT NOT NULL,
  open_by_us BIGINT NOT NULL,
  alive_until_us BIGINT NOT NULL,
  opened_us BIGINT,
  ended_us BIGINT,
  ended_how TEXT,
  to_guest_bytes BIGINT NOT NULL DEFAULT 0,
  from_guest_bytes BIGINT NOT NULL DEFAULT 0,
  recording_bytes BIGINT,
  recording_sha256 TEXT,
  recording_cut BIGINT CHECK (recording_cut IN (0, 1)),
  CHECK ((state = 'ended') = (ended_us IS NOT NULL)),
  CHECK ((ended_us IS NULL) = (ended_how IS NULL)),
  CHECK ((recording_sha256 IS NULL) = (recording_bytes IS NULL) AND (recording_sha256 IS NULL) = (recording_cut IS NULL))
);
CREATE INDEX streams_by_allocation ON streams (allocation_id, id);
CREATE INDEX streams_wanted ON streams (node_id) WHERE state = 'wanted';
CREATE INDEX streams_live_of_tenant ON streams (tenant_id) WHERE state <> 'ended';
CREATE INDEX streams_live_of_node ON streams (node_id) WHERE state <> 'ended';
CREATE INDEX streams_live ON streams (alive_until_us) WHERE state <> 'ended';
