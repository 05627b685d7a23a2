-- What a person brings to a launch (keys, labels, wishes about the place, a lease), and what one slot of a kind is made of.

CREATE TABLE ssh_keys (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  UNIQUE (project_id, name),
  UNIQUE (project_id, fingerprint),
  FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)
);
CREATE INDEX ssh_keys_by_project ON ssh_keys (project_id, id);

CREATE TABLE slot_profiles (
  slug TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  vcpus BIGINT NOT NULL CHECK (vcpus BETWEEN 1 AND 1024),
  memory_mib BIGINT NOT NULL CHECK (memory_mib BETWEEN 1 AND 16777216),
  min_disk_bytes BIGINT NOT NULL CHECK (min_disk_bytes >= 0),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);

-- For slices: what each GPU comes with. What was sold before profiles existed has none.
ALTER TABLE skus ADD COLUMN profile TEXT REFERENCES slot_profiles (slug);

-- Wishes about the place as JSON: pool, group, spread, co-tenancy.
ALTER TABLE allocations ADD COLUMN placement TEXT NOT NULL DEFAULT '{}';
ALTER TABLE allocations ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
-- The keys as they were at launch: a key that is deleted later stays where it was put.
ALTER TABLE allocations ADD COLUMN ssh_keys TEXT NOT NULL DEFAULT '[]';
ALTER TABLE allocations ADD COLUMN lease_ends_us BIGINT;
ALTER TABLE allocations ADD COLUMN lease_warned_us BIGINT;
-- The owner's word: it may be stopped and launched again elsewhere when its node is evacuated.
ALTER TABLE allocations ADD COLUMN may_recreate BIGINT NOT NULL DEFAULT 0 CHECK (may_recreate IN (0, 1));
ALTER TABLE allocations ADD COLUMN evacuating BIGINT NOT NULL DEFAULT 0 CHECK (evacuating IN (0, 1));
ALTER TABLE allocations ADD COLUMN recreated_from TEXT REFERENCES allocations (id);
-- Why it is wanted released, as a word; empty while it is wanted.
ALTER TABLE allocations ADD COLUMN desired_reason TEXT NOT NULL DEFAULT '';
-- An operator's word that its host is not to be waited for, with the reason.
ALTER TABLE allocations ADD COLUMN force_reason TEXT;
CREATE UNIQUE INDEX allocations_recreated_once ON allocations (recreated_from) WHERE recreated_from IS NOT NULL;
CREATE INDEX allocations_by_lease ON allocations (lease_ends_us) WHERE lease_ends_us IS NOT NULL;

-- Where a slot hangs on its host, counted from 0 within the node: what shares a PCIe switch or a rail is sold together.
ALTER TABLE node_resource_slots ADD COLUMN pcie_switch BIGINT CHECK (pcie_switch >= 0);
ALTER TABLE node_resource_slots ADD COLUMN rail BIGINT CHECK (rail >= 0);

-- What placement asks the store in every turn: who waits, how much a project holds, when a node was last had whole.
CREATE INDEX allocations_requested ON allocations (look_us, id) WHERE state = 'requested' AND look_us IS NOT NULL;
DROP INDEX allocations_live;
CREATE INDEX allocations_live ON allocations (project_id, gpu_count) WHERE state NOT IN ('released', 'refused', 'failed');
-- A wish is answered once, whoever answers.
CREATE UNIQUE INDEX decisions_one_answer ON decisions (subject_id) WHERE outcome IN ('placed', 'refused');
CREATE INDEX decisions_refused ON decisions (subject_id) WHERE outcome = 'refused';
CREATE INDEX claims_exclusive ON allocation_resource_claims (node_id, fence) WHERE kind = 'node_exclusive';
