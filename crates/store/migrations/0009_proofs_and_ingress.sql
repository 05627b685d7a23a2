-- What every proof was held against when it came in, the proofs that were refused, what two operators may say instead of
-- one, and ways in from outside.

-- Keys, disks and devices change later; a proof stays what it was. Proofs from before were held against all steps.
ALTER TABLE wipe_proofs ADD COLUMN id TEXT;
ALTER TABLE wipe_proofs ADD COLUMN public_key TEXT NOT NULL DEFAULT '';
ALTER TABLE wipe_proofs ADD COLUMN disk_identity TEXT NOT NULL DEFAULT '';
ALTER TABLE wipe_proofs ADD COLUMN steps TEXT NOT NULL DEFAULT '[]';
UPDATE wipe_proofs SET
  id = 'prf_0' || SUBSTR('000000000' || use_generation, LENGTH('' || use_generation) + 1) || SUBSTR(slot_id, 15),
  public_key = (SELECT n.public_key FROM nodes n WHERE n.id = wipe_proofs.node_id),
  steps = '["guest_gone","disk_erased","disk_read_back","gpu_reset","fabric_reset"]';
-- One for each challenge: what was proved clean may be found unclean, is challenged anew, and has to be proved again.
CREATE TABLE proofs_aside AS SELECT id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps
  FROM wipe_proofs;
DROP TABLE wipe_proofs;
CREATE TABLE wipe_proofs (
  id TEXT PRIMARY KEY,
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  use_generation BIGINT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  nonce TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  public_key TEXT NOT NULL,
  disk_identity TEXT NOT NULL,
  steps TEXT NOT NULL,
  UNIQUE (slot_id, use_generation, nonce)
);
INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps)
  SELECT id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps FROM proofs_aside;
DROP TABLE proofs_aside;

-- At most one for each challenge that was given.
CREATE TABLE refused_proofs (
  id TEXT PRIMARY KEY,
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  use_generation BIGINT NOT NULL,
  node_id TEXT NOT NULL REFERENCES nodes (id),
  nonce TEXT NOT NULL,
  fault TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  public_key TEXT NOT NULL,
  disk_identity TEXT NOT NULL,
  steps TEXT NOT NULL,
  UNIQUE (slot_id, use_generation, nonce)
);

-- A slot goes on without a proof: one person asks, another decides.
CREATE TABLE wipe_overrides (
  id TEXT PRIMARY KEY,
  slot_id TEXT NOT NULL REFERENCES node_resource_slots (id),
  use_generation BIGINT NOT NULL CHECK (use_generation >= 1),
  reason TEXT NOT NULL CHECK (LENGTH(reason) BETWEEN 20 AND 1000),
  evidence_ref TEXT NOT NULL,
  requested_by TEXT NOT NULL REFERENCES principals (id),
  requested_us BIGINT NOT NULL,
  decided_by TEXT REFERENCES principals (id),
  decided_us BIGINT,
  expires_us BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('requested', 'approved', 'rejected', 'expired', 'used')),
  version BIGINT NOT NULL,
  CHECK (expires_us > requested_us),
  CHECK (decided_by <> requested_by),
  CHECK ((decided_by IS NULL) = (decided_us IS NULL)),
  CHECK ((decided_by IS NULL) = (state IN ('requested', 'expired')))
);
CREATE UNIQUE INDEX wipe_overrides_one_open ON wipe_overrides (slot_id, use_generation)
  WHERE state IN ('requested', 'approved');
CREATE INDEX wipe_overrides_by_slot ON wipe_overrides (slot_id, use_generation, state);
CREATE INDEX wipe_overrides_waiting ON wipe_overrides (expires_us) WHERE state = 'requested';

-- Who owns ways in to a region and what may be used, as JSON; nobody and nothing when absent.
ALTER TABLE regions ADD COLUMN ingress TEXT;

CREATE TABLE ingresses (
  id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  allocation_id TEXT NOT NULL REFERENCES allocations (id),
  region_id TEXT NOT NULL REFERENCES regions (id),
  protocol TEXT NOT NULL CHECK (protocol IN ('tcp', 'udp')),
  address TEXT NOT NULL,
  public_port BIGINT NOT NULL CHECK (public_port BETWEEN 1 AND 65535),
  guest_port BIGINT NOT NULL CHECK (guest_port BETWEEN 1 AND 65535),
  state TEXT NOT NULL CHECK (state IN ('accepted')),
  version BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  UNIQUE (address, public_port),
  FOREIGN KEY (tenant_id, project_id) REFERENCES projects (tenant_id, id)
);
CREATE INDEX ingresses_by_project ON ingresses (project_id, id);
CREATE INDEX ingresses_by_allocation ON ingresses (allocation_id);
CREATE INDEX ingresses_by_region ON ingresses (region_id);
