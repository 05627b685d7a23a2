-- Where capacity is, and the approved slots that can be sold. Two slots never share a device, a MAC or an address.

CREATE TABLE regions (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  enabled BIGINT NOT NULL CHECK (enabled IN (0, 1)),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);

CREATE TABLE pools (
  id TEXT PRIMARY KEY,
  region_id TEXT NOT NULL REFERENCES regions (id),
  slug TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  slices_enabled BIGINT NOT NULL CHECK (slices_enabled IN (0, 1)),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);

CREATE TABLE skus (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  shape TEXT NOT NULL CHECK (shape IN ('baremetal', 'gpu_slice')),
  gpu_model TEXT NOT NULL,
  gpu_counts TEXT NOT NULL,
  vcpus_per_gpu BIGINT NOT NULL CHECK (vcpus_per_gpu BETWEEN 1 AND 1024),
  memory_mib_per_gpu BIGINT NOT NULL CHECK (memory_mib_per_gpu BETWEEN 1 AND 16777216),
  price_micros_per_gpu_hour BIGINT NOT NULL CHECK (price_micros_per_gpu_hour >= 0),
  enabled BIGINT NOT NULL CHECK (enabled IN (0, 1)),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);

CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  pool_id TEXT NOT NULL REFERENCES pools (id),
  name TEXT NOT NULL UNIQUE,
  gpu_model TEXT NOT NULL,
  public_key TEXT NOT NULL UNIQUE,
  -- Sellable sets of GPU module ids as JSON, read from the node.
  partitions TEXT NOT NULL,
  last_seen_us BIGINT,
  use_generation BIGINT NOT NULL DEFAULT 0,
  state TEXT NOT NULL,
  state_since_us BIGINT NOT NULL,
  wait_code TEXT, wait_because TEXT, wait_source TEXT, wait_until_us BIGINT,
  look_us BIGINT, faults BIGINT NOT NULL DEFAULT 0, last_fault TEXT,
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL
);
CREATE INDEX nodes_look ON nodes (look_us) WHERE look_us IS NOT NULL;
CREATE INDEX nodes_by_pool ON nodes (pool_id);

CREATE TABLE node_occupancy (
  node_id TEXT PRIMARY KEY REFERENCES nodes (id),
  mode TEXT NOT NULL CHECK (mode IN ('free', 'sliced', 'exclusive')),
  UNIQUE (node_id, mode)
);

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
  UNIQUE (node_id, id),
  CHECK (state = 'disabled' OR (gpu_pci_address IS NOT NULL AND nvme_identity IS NOT NULL AND mgmt_mac IS NOT NULL
    AND private_ip IS NOT NULL AND fabric_claim_mode = 'per_slot_vf' AND fabric_vf_pci_address IS NOT NULL))
);
CREATE UNIQUE INDEX slots_gpu ON node_resource_slots (node_id, gpu_pci_address);
CREATE UNIQUE INDEX slots_gpu_uuid ON node_resource_slots (gpu_uuid);
CREATE UNIQUE INDEX slots_nvme ON node_resource_slots (node_id, nvme_identity);
CREATE UNIQUE INDEX slots_mac ON node_resource_slots (mgmt_mac);
CREATE UNIQUE INDEX slots_ip ON node_resource_slots (private_ip);
CREATE UNIQUE INDEX slots_vf ON node_resource_slots (node_id, fabric_vf_pci_address);
CREATE INDEX slots_look ON node_resource_slots (look_us) WHERE look_us IS NOT NULL;
