-- How hosts come in: one-time tokens, certificates, what was discovered on them, what an operator granted and what has
-- drifted since. A candidate is what discovery found; it is advice, kept apart from slots, and never for sale.

ALTER TABLE pools ADD COLUMN private_range TEXT;

-- A node's numbers never change and are never given twice: addresses are derived from them.
ALTER TABLE nodes ADD COLUMN number BIGINT;
ALTER TABLE nodes ADD COLUMN pool_number BIGINT;
ALTER TABLE nodes ADD COLUMN hardware_serial TEXT;
ALTER TABLE nodes ADD COLUMN desired TEXT NOT NULL DEFAULT 'in_service'
  CHECK (desired IN ('in_service', 'drained', 'disabled'));
ALTER TABLE nodes ADD COLUMN desired_reason TEXT NOT NULL DEFAULT '';
-- What the host is meant for, as tags; intent alone sells nothing.
ALTER TABLE nodes ADD COLUMN profiles TEXT NOT NULL DEFAULT '[]';
ALTER TABLE nodes ADD COLUMN promoted_us BIGINT;
ALTER TABLE nodes ADD COLUMN readiness TEXT;
ALTER TABLE nodes ADD COLUMN readiness_us BIGINT;
ALTER TABLE nodes ADD COLUMN agent_version TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN agent_boot BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN agent_session TEXT NOT NULL DEFAULT '';

UPDATE nodes SET number = (SELECT COUNT(*) FROM nodes o WHERE o.id <= nodes.id),
  pool_number = (SELECT COUNT(*) FROM nodes o WHERE o.pool_id = nodes.pool_id AND o.id <= nodes.id),
  promoted_us = created_us;
CREATE UNIQUE INDEX nodes_number ON nodes (number);
CREATE UNIQUE INDEX nodes_pool_number ON nodes (pool_id, pool_number);
CREATE UNIQUE INDEX nodes_hardware_serial ON nodes (hardware_serial);

CREATE TABLE enrollment_tokens (
  id TEXT PRIMARY KEY,
  pool_id TEXT NOT NULL REFERENCES pools (id),
  node_name TEXT NOT NULL,
  hardware_serial TEXT,
  secret_hash TEXT NOT NULL UNIQUE,
  expires_us BIGINT NOT NULL,
  used_us BIGINT,
  node_id TEXT REFERENCES nodes (id),
  revoked_us BIGINT,
  created_by TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  CHECK ((used_us IS NULL) = (node_id IS NULL))
);

CREATE TABLE node_certificates (
  serial TEXT PRIMARY KEY,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  not_after_us BIGINT NOT NULL,
  revoked_us BIGINT,
  created_us BIGINT NOT NULL
);
CREATE INDEX node_certificates_by_node ON node_certificates (node_id);
CREATE INDEX node_certificates_revoked ON node_certificates (revoked_us) WHERE revoked_us IS NOT NULL;

-- What agents did that an honest one does not, one row a kind and node, counted.
CREATE TABLE node_incidents (
  id TEXT PRIMARY KEY,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  kind TEXT NOT NULL,
  detail TEXT NOT NULL,
  count BIGINT NOT NULL CHECK (count >= 1),
  first_us BIGINT NOT NULL,
  last_us BIGINT NOT NULL,
  UNIQUE (node_id, kind)
);

CREATE TABLE node_discoveries (
  node_id TEXT NOT NULL REFERENCES nodes (id),
  number BIGINT NOT NULL CHECK (number >= 1),
  task_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (node_id, number)
);

-- Which node a device belongs to, by the device's own identity. The first node that reports it has it, until a later
-- discovery of that node no longer shows it.
CREATE TABLE node_devices (
  kind TEXT NOT NULL CHECK (kind IN ('gpu', 'nvme')),
  identity TEXT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  PRIMARY KEY (kind, identity)
);
CREATE INDEX node_devices_by_node ON node_devices (node_id);

-- Which disks the platform may destroy although something was on them; said by a person, never inferred.
CREATE TABLE disk_grants (
  node_id TEXT NOT NULL REFERENCES nodes (id),
  nvme_identity TEXT NOT NULL,
  reason TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (node_id, nvme_identity)
);

ALTER TABLE node_resource_slots ADD COLUMN drifted BIGINT NOT NULL DEFAULT 0 CHECK (drifted IN (0, 1));
-- The devices as the operator approved them, for comparing with what the host shows later.
ALTER TABLE node_resource_slots ADD COLUMN approved TEXT;
ALTER TABLE node_resource_slots ADD COLUMN approved_by TEXT NOT NULL DEFAULT '';
ALTER TABLE node_resource_slots ADD COLUMN approved_us BIGINT;
CREATE INDEX slots_by_nvme ON node_resource_slots (nvme_identity);

CREATE TABLE slot_drifts (
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  field TEXT NOT NULL,
  kind TEXT NOT NULL,
  approved TEXT NOT NULL,
  seen TEXT NOT NULL,
  detail TEXT NOT NULL,
  first_us BIGINT NOT NULL,
  last_us BIGINT NOT NULL,
  PRIMARY KEY (slot_id, field, kind)
);

-- Orders may be about the host itself, without an allocation. The table is made anew, since a column cannot be allowed to be
-- absent afterwards on every engine; what it held is put aside meanwhile.
CREATE TABLE orders_aside AS SELECT id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state,
  state_since_us, input, progress, output, deadline_us, wait_code, wait_because, wait_source, wait_until_us, look_us,
  faults, last_fault, version, created_us FROM node_tasks;
DROP TABLE node_tasks;
CREATE TABLE node_tasks (
  id TEXT PRIMARY KEY,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  allocation_id TEXT REFERENCES allocations (id),
  kind TEXT NOT NULL,
  fence_incarnation BIGINT NOT NULL,
  fence_generation BIGINT NOT NULL,
  attempt BIGINT NOT NULL CHECK (attempt >= 1),
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'succeeded', 'failed', 'expired')),
  state_since_us BIGINT NOT NULL,
  input TEXT NOT NULL,
  progress TEXT,
  output TEXT,
  deadline_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  UNIQUE (allocation_id, kind, attempt)
);
INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state,
  state_since_us, input, progress, output, deadline_us, wait_code, wait_because, wait_source, wait_until_us, look_us,
  faults, last_fault, version, created_us) SELECT id, node_id, allocation_id, kind, fence_incarnation, fence_generation,
  attempt, state, state_since_us, input, progress, output, deadline_us, wait_code, wait_because, wait_source,
  wait_until_us, look_us, faults, last_fault, version, created_us FROM orders_aside;
DROP TABLE orders_aside;
CREATE UNIQUE INDEX tasks_of_host ON node_tasks (node_id, kind, attempt) WHERE allocation_id IS NULL;
CREATE INDEX tasks_open ON node_tasks (node_id, id) WHERE state IN ('pending', 'delivered');
CREATE INDEX tasks_by_node ON node_tasks (node_id, id);
CREATE INDEX tasks_look ON node_tasks (look_us) WHERE look_us IS NOT NULL;
