-- What users hold, the claims that are the truth of placement, the orders to hosts and the proofs they send back.

CREATE TABLE allocations (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  sku_id TEXT NOT NULL REFERENCES skus (id),
  region_id TEXT NOT NULL REFERENCES regions (id),
  shape TEXT NOT NULL,
  gpu_count BIGINT NOT NULL CHECK (gpu_count BETWEEN 1 AND 64),
  desired TEXT NOT NULL,
  observed TEXT NOT NULL,
  -- A read-model field; the claims are the truth.
  node_id TEXT,
  state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)
);
CREATE INDEX allocations_by_project ON allocations (project_id, id);
CREATE INDEX allocations_by_tenant ON allocations (tenant_id, id);
CREATE INDEX allocations_live ON allocations (project_id) WHERE state NOT IN ('released', 'refused', 'failed');
CREATE INDEX allocations_look ON allocations (look_us) WHERE look_us IS NOT NULL;

CREATE TABLE allocation_resource_claims (
  id TEXT PRIMARY KEY,
  allocation_id TEXT NOT NULL REFERENCES allocations (id),
  node_id TEXT NOT NULL REFERENCES nodes (id),
  slot_id TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('node_exclusive', 'slot')),
  active_mode TEXT CHECK (active_mode IN ('exclusive', 'sliced')),
  fence BIGINT NOT NULL CHECK (fence >= 1),
  claimed_us BIGINT NOT NULL,
  released_us BIGINT CHECK (released_us >= claimed_us),
  snapshot TEXT NOT NULL,
  CHECK ((active_mode IS NULL) = (released_us IS NOT NULL)),
  CHECK ((kind = 'slot') = (slot_id IS NOT NULL)),
  CHECK (active_mode IS NULL OR (kind = 'slot') = (active_mode = 'sliced')),
  FOREIGN KEY (node_id, active_mode) REFERENCES node_occupancy (node_id, mode),
  FOREIGN KEY (node_id, slot_id) REFERENCES node_resource_slots (node_id, id)
);
CREATE UNIQUE INDEX claims_one_active_per_slot ON allocation_resource_claims (slot_id) WHERE active_mode = 'sliced';
CREATE UNIQUE INDEX claims_one_exclusive_per_node ON allocation_resource_claims (node_id) WHERE active_mode = 'exclusive';
CREATE UNIQUE INDEX claims_fence ON allocation_resource_claims (slot_id, fence);
CREATE INDEX claims_by_allocation ON allocation_resource_claims (allocation_id);
CREATE INDEX claims_by_node ON allocation_resource_claims (node_id, active_mode);

CREATE TABLE node_tasks (
  id TEXT PRIMARY KEY,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  allocation_id TEXT NOT NULL REFERENCES allocations (id),
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
CREATE INDEX tasks_open ON node_tasks (node_id, id) WHERE state IN ('pending', 'delivered');
CREATE INDEX tasks_by_node ON node_tasks (node_id, id);
CREATE INDEX tasks_look ON node_tasks (look_us) WHERE look_us IS NOT NULL;

CREATE TABLE wipe_proofs (
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  use_generation BIGINT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  nonce TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (slot_id, use_generation)
);

CREATE TABLE decisions (
  id TEXT PRIMARY KEY,
  subject_id TEXT NOT NULL,
  outcome TEXT NOT NULL,
  body TEXT NOT NULL,
  snapshot_version BIGINT NOT NULL,
  at_us BIGINT NOT NULL
);
CREATE INDEX decisions_by_subject ON decisions (subject_id, id);
