-- What guests are made of: images and who may sign them, what a launch brings, what a profile needs of a slot; and what hosts
-- report when they are compared with their claims.

-- Who may sign entries of the catalogue of images.
CREATE TABLE image_keys (
  key_id TEXT PRIMARY KEY,
  public_key TEXT NOT NULL UNIQUE,
  added_by TEXT NOT NULL,
  revoked_us BIGINT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);

-- An entry never changes; only where it stands does.
CREATE TABLE images (
  id TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('base', 'cuda')),
  spec TEXT NOT NULL,
  signer_key_id TEXT NOT NULL REFERENCES image_keys (key_id),
  state TEXT NOT NULL CHECK (state IN ('registered', 'available', 'retired')),
  -- What is launched when nobody names one.
  is_default BIGINT NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  CHECK (is_default = 0 OR state = 'available')
);
CREATE INDEX images_by_sha256 ON images (sha256);
CREATE UNIQUE INDEX images_one_default ON images (is_default) WHERE is_default = 1;

-- The entry as it was at launch, and what the tenant wrote for cloud-init.
ALTER TABLE allocations ADD COLUMN image TEXT;
ALTER TABLE allocations ADD COLUMN user_data TEXT CHECK (length(user_data) <= 32768);

-- Only a laboratory's slots do without a GPU and a fabric function.
ALTER TABLE slot_profiles ADD COLUMN hugepage_kib BIGINT CHECK (hugepage_kib IN (2048, 1048576));
ALTER TABLE slot_profiles ADD COLUMN needs_gpu BIGINT NOT NULL DEFAULT 1
  CHECK (needs_gpu = 1 OR (needs_gpu = 0 AND slug = 'lab-vm'));
ALTER TABLE slot_profiles ADD COLUMN needs_fabric BIGINT NOT NULL DEFAULT 1
  CHECK (needs_fabric = 1 OR (needs_fabric = 0 AND slug = 'lab-vm'));

-- The newest word of each kind that a host gave when it was ordered to plan or to compare.
CREATE TABLE node_reports (
  node_id TEXT NOT NULL REFERENCES nodes (id),
  kind TEXT NOT NULL CHECK (kind IN ('slice.plan', 'slice.reconcile')),
  task_id TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (node_id, kind)
);

-- A laboratory's slot is complete without a GPU and a fabric function. A rule of a table cannot be changed on every engine,
-- so the table is made anew, and with it those that refer to it; what they held is put aside meanwhile.
CREATE TABLE drifts_aside AS SELECT slot_id, field, kind, approved, seen, detail, first_us, last_us FROM slot_drifts;
DROP TABLE slot_drifts;
CREATE TABLE proofs_aside AS SELECT slot_id, use_generation, node_id, nonce, body, at_us FROM wipe_proofs;
DROP TABLE wipe_proofs;
CREATE TABLE claims_aside AS SELECT id, allocation_id, node_id, slot_id, kind, active_mode, fence, claimed_us, released_us,
  snapshot FROM allocation_resource_claims;
DROP TABLE allocation_resource_claims;
CREATE TABLE slots_aside AS SELECT id, node_id, profile, state, gpu_pci_address, gpu_uuid, gpu_module_id, nvme_identity,
  mgmt_mac, private_ip, fabric_claim_mode, fabric_vf_pci_address, numa_node, partition_ids, use_generation, wipe_nonce,
  capacity_metadata, health_state, health_detail, state_since_us, wait_code, wait_because, wait_source, wait_until_us,
  look_us, faults, last_fault, version, created_us, drifted, approved, approved_by, approved_us, pcie_switch, rail
  FROM node_resource_slots;
DROP TABLE node_resource_slots;

CREATE TABLE node_resource_slots (
  id TEXT PRIMARY KEY,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  profile TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('disabled', 'available', 'reserved', 'in_use', 'wiping', 'cleanup_blocked')),
  gpu_pci_address TEXT,
  gpu_uuid TEXT,
  gpu_module_id BIGINT,
  nvme_identity TEXT,
  mgmt_mac TEXT,
  private_ip TEXT,
  fabric_claim_mode TEXT NOT NULL CHECK (fabric_claim_mode IN ('per_slot_vf', 'none')),
  fabric_vf_pci_address TEXT,
  numa_node BIGINT,
  partition_ids TEXT NOT NULL,
  use_generation BIGINT NOT NULL DEFAULT 0 CHECK (use_generation >= 0),
  wipe_nonce TEXT,
  capacity_metadata TEXT NOT NULL,
  health_state TEXT NOT NULL,
  health_detail TEXT NOT NULL,
  state_since_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  drifted BIGINT NOT NULL DEFAULT 0 CHECK (drifted IN (0, 1)),
  -- The devices as the operator approved them, for comparing with what the host shows later.
  approved TEXT,
  approved_by TEXT NOT NULL DEFAULT '',
  approved_us BIGINT,
  -- Where it hangs on its host, counted from 0 within the node.
  pcie_switch BIGINT CHECK (pcie_switch >= 0),
  rail BIGINT CHECK (rail >= 0),
  UNIQUE (node_id, id),
  CHECK (state = 'disabled' OR (nvme_identity IS NOT NULL AND mgmt_mac IS NOT NULL AND private_ip IS NOT NULL)),
  CHECK (state = 'disabled' OR profile = 'lab-vm' OR (gpu_pci_address IS NOT NULL AND fabric_claim_mode = 'per_slot_vf'
    AND fabric_vf_pci_address IS NOT NULL)),
  -- And has neither: what has a GPU is not a laboratory's.
  CHECK (profile <> 'lab-vm' OR (gpu_pci_address IS NULL AND gpu_uuid IS NULL AND fabric_vf_pci_address IS NULL))
);
INSERT INTO node_resource_slots (id, node_id, profile, state, gpu_pci_address, gpu_uuid, gpu_module_id, nvme_identity,
  mgmt_mac, private_ip, fabric_claim_mode, fabric_vf_pci_address, numa_node, partition_ids, use_generation, wipe_nonce,
  capacity_metadata, health_state, health_detail, state_since_us, wait_code, wait_because, wait_source, wait_until_us,
  look_us, faults, last_fault, version, created_us, drifted, approved, approved_by, approved_us, pcie_switch, rail)
  SELECT id, node_id, profile, state, gpu_pci_address, gpu_uuid, gpu_module_id, nvme_identity, mgmt_mac, private_ip,
  fabric_claim_mode, fabric_vf_pci_address, numa_node, partition_ids, use_generation, wipe_nonce, capacity_metadata,
  health_state, health_detail, state_since_us, wait_code, wait_because, wait_source, wait_until_us, look_us, faults,
  last_fault, version, created_us, drifted, approved, approved_by, approved_us, pcie_switch, rail FROM slots_aside;
DROP TABLE slots_aside;
CREATE UNIQUE INDEX slots_gpu ON node_resource_slots (node_id, gpu_pci_address);
CREATE UNIQUE INDEX slots_gpu_uuid ON node_resource_slots (gpu_uuid);
CREATE UNIQUE INDEX slots_nvme ON node_resource_slots (node_id, nvme_identity);
CREATE UNIQUE INDEX slots_mac ON node_resource_slots (mgmt_mac);
CREATE UNIQUE INDEX slots_ip ON node_resource_slots (private_ip);
CREATE UNIQUE INDEX slots_vf ON node_resource_slots (node_id, fabric_vf_pci_address);
CREATE INDEX slots_look ON node_resource_slots (look_us) WHERE look_us IS NOT NULL;
CREATE INDEX slots_by_nvme ON node_resource_slots (nvme_identity);

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
INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, active_mode, fence, claimed_us,
  released_us, snapshot) SELECT id, allocation_id, node_id, slot_id, kind, active_mode, fence, claimed_us, released_us,
  snapshot FROM claims_aside;
DROP TABLE claims_aside;
CREATE UNIQUE INDEX claims_one_active_per_slot ON allocation_resource_claims (slot_id) WHERE active_mode = 'sliced';
CREATE UNIQUE INDEX claims_one_exclusive_per_node ON allocation_resource_claims (node_id) WHERE active_mode = 'exclusive';
CREATE UNIQUE INDEX claims_fence ON allocation_resource_claims (slot_id, fence);
CREATE INDEX claims_by_allocation ON allocation_resource_claims (allocation_id);
CREATE INDEX claims_by_node ON allocation_resource_claims (node_id, active_mode);
CREATE INDEX claims_exclusive ON allocation_resource_claims (node_id, fence) WHERE kind = 'node_exclusive';

CREATE TABLE wipe_proofs (
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  use_generation BIGINT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  nonce TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (slot_id, use_generation)
);
INSERT INTO wipe_proofs (slot_id, use_generation, node_id, nonce, body, at_us)
  SELECT slot_id, use_generation, node_id, nonce, body, at_us FROM proofs_aside;
DROP TABLE proofs_aside;

CREATE TABLE slot_drifts (
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  field TEXT NOT NULL,
  kind TEXT NOT NULL,
  approved TEXT NOT NULL,
  seen TEXT NOT NULL,
  detail TEXT NOT NULL,
  first_us BIGINT NOT NULL,
  last_us BIGINT NOT NULL,
  -- Whose word it is: a later discovery takes back what one found, and not what a host refused an order for.
  said_by TEXT NOT NULL DEFAULT 'discovery' CHECK (said_by IN ('discovery', 'plan', 'reconcile')),
  PRIMARY KEY (slot_id, said_by, field, kind)
);
INSERT INTO slot_drifts (slot_id, field, kind, approved, seen, detail, first_us, last_us)
  SELECT slot_id, field, kind, approved, seen, detail, first_us, last_us FROM drifts_aside;
DROP TABLE drifts_aside;
