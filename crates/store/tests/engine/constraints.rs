//! Every rule of the schema bites, on both engines, under the same name where the rule has one. Each case runs alone on
//! top of the same small world: its last statement must be refused, all before it accepted.

mod governance;
mod machines;
mod outside;
mod proofs;
mod streams;
mod workloads;

use crate::runtime_rules;

use store::{
    Db, Dialect, StoreError, Tx,
    testing::{Place, both_engines},
};

/// A world in which everything is allowed so far, as stores had it before there were guests.
pub const WORLD: &[&str] = &[
    "INSERT INTO tenants (id, slug, name, desired, observed, state, state_since_us, version, created_us)
     VALUES ('t1', 'one', 'One', '{}', '{}', 'active', 0, 1, 0), ('t2', 'two', 'Two', '{}', '{}', 'active', 0, 1, 0)",
    "INSERT INTO projects (id, tenant_id, slug, name, gpu_cap, desired, observed, state, state_since_us, version, created_us)
     VALUES ('p1', 't1', 'web', 'Web', 8, '{}', '{}', 'active', 0, 1, 0), ('p2', 't2', 'web', 'Web', 8, '{}', '{}', 'active', 0, 1, 0)",
    "INSERT INTO principals (id, kind, name, tenant_id, platform_role, version, created_us)
     VALUES ('u1', 'user', 'ada', NULL, NULL, 1, 0), ('u2', 'user', 'bob', NULL, 'platform_operator', 1, 0),
            ('s1', 'service_account', 'ci', 't1', NULL, 1, 0)",
    "INSERT INTO members (id, tenant_id, project_id, principal_id, role, version, created_us)
     VALUES ('m1', 't1', NULL, 'u1', 'tenant_admin', 1, 0), ('m2', 't1', 'p1', 's1', 'project_member', 1, 0)",
    "INSERT INTO tokens (id, principal_id, name, secret_hash, scope, expires_us, version, created_us)
     VALUES ('k1', 'u1', 'laptop', 'hash', 'read', 9, 1, 0)",
    "INSERT INTO regions (id, slug, name, enabled, version, created_us) VALUES ('r1', 'north', 'North', 1, 1, 0)",
    "INSERT INTO pools (id, region_id, slug, name, gpu_model, slices_enabled, version, created_us)
     VALUES ('o1', 'r1', 'h200', 'H200', 'h200', 1, 1, 0)",
    "INSERT INTO skus (id, slug, name, shape, gpu_model, gpu_counts, vcpus_per_gpu, memory_mib_per_gpu, price_micros_per_gpu_hour, enabled, version, created_us)
     VALUES ('q1', 'slice', 'Slice', 'gpu_slice', 'h200', '[1]', 16, 1024, 5, 1, 1, 0)",
    "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, version, created_us)
     VALUES ('n1', 'o1', 'host1', 'h200', 'key1', '[]', 'ready', 0, 1, 0), ('n2', 'o1', 'host2', 'h200', 'key2', '[]', 'ready', 0, 1, 0)",
    "INSERT INTO node_occupancy (node_id, mode) VALUES ('n1', 'sliced'), ('n2', 'exclusive')",
    "INSERT INTO node_resource_slots (id, node_id, profile, state, gpu_pci_address, gpu_uuid, nvme_identity, mgmt_mac, private_ip,
       fabric_claim_mode, fabric_vf_pci_address, partition_ids, capacity_metadata, health_state, health_detail, state_since_us, version, created_us)
     VALUES ('l1', 'n1', 'x', 'available', 'pci1', 'uuid1', 'nvme1', 'mac1', 'ip1', 'per_slot_vf', 'vf1', '[]', '{}', 'ok', '', 0, 1, 0),
            ('l2', 'n1', 'x', 'available', 'pci2', 'uuid2', 'nvme2', 'mac2', 'ip2', 'per_slot_vf', 'vf2', '[]', '{}', 'ok', '', 0, 1, 0),
            ('l3', 'n2', 'x', 'available', 'pci1', 'uuid3', 'nvme1', 'mac3', 'ip3', 'per_slot_vf', 'vf1', '[]', '{}', 'ok', '', 0, 1, 0)",
    "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, desired, observed, state, state_since_us, version, created_us)
     VALUES ('a1', 't1', 'p1', 'x', 'q1', 'r1', 'gpu_slice', 1, '{}', '{}', 'running', 0, 1, 0),
            ('a2', 't1', 'p1', 'y', 'q1', 'r1', 'gpu_slice', 1, '{}', '{}', 'running', 0, 1, 0)",
    "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, active_mode, fence, claimed_us, snapshot)
     VALUES ('c1', 'a1', 'n1', 'l1', 'slot', 'sliced', 1, 5, '{}'), ('c2', 'a2', 'n2', NULL, 'node_exclusive', 'exclusive', 1, 5, '{}')",
    "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state, state_since_us, input, deadline_us, version, created_us)
     VALUES ('w1', 'n1', 'a1', 'provision', 1, 1, 1, 'pending', 0, '{}', 9, 1, 0)",
    "UPDATE nodes SET number = 1, pool_number = 1, hardware_serial = 'board1' WHERE id = 'n1'",
    "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state, state_since_us, input, deadline_us, version, created_us)
     VALUES ('w2', 'n1', NULL, 'discover', 1, 0, 1, 'pending', 0, '{}', 9, 1, 0)",
    "INSERT INTO enrollment_tokens (id, pool_id, node_name, secret_hash, expires_us, created_by, version, created_us)
     VALUES ('h1', 'o1', 'host3', 'hash1', 9, 'u2', 1, 0)",
    "INSERT INTO node_certificates (serial, node_id, not_after_us, created_us) VALUES ('f1', 'n1', 9, 0)",
    "INSERT INTO node_incidents (id, node_id, kind, detail, count, first_us, last_us) VALUES ('j1', 'n1', 'clock_far_off', 'x', 1, 0, 0)",
    "INSERT INTO node_discoveries (node_id, number, task_id, digest, body, at_us) VALUES ('n1', 1, 'w2', 'd', '{}', 0)",
    "INSERT INTO node_devices (kind, identity, node_id) VALUES ('gpu', 'uuid1', 'n1')",
    "INSERT INTO disk_grants (node_id, nvme_identity, reason, granted_by, at_us) VALUES ('n1', 'nvme1', 'x', 'u2', 0)",
    "INSERT INTO slot_drifts (slot_id, field, kind, approved, seen, detail, first_us, last_us) VALUES ('l1', 'gpu', 'gone', 'a', 'b', 'c', 0, 0)",
    "INSERT INTO ssh_keys (id, tenant_id, project_id, name, public_key, fingerprint, version, created_us)
     VALUES ('y1', 't1', 'p1', 'laptop', 'line1', 'sha1', 1, 0)",
    "INSERT INTO slot_profiles (slug, name, gpu_model, vcpus, memory_mib, min_disk_bytes, version, created_us)
     VALUES ('g1', 'Slot', 'h200', 24, 65536, 0, 1, 0)",
    "INSERT INTO events (id, seq, noun, change, subject_id, object_version, at_us) VALUES ('e1', 1, 'tenant', 'created', 't1', 1, 0)",
    "INSERT INTO audit (id, seq, actor, action, subject, request_id, body, at_us) VALUES ('i1', 1, 'u1', 'x', 't1', 'q', '{}', 0)",
    "INSERT INTO idempotency (principal_id, idempotency_key, fingerprint, status, answer, at_us) VALUES ('u1', 'k', 'f', 200, '{}', 0)",
];

#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    Unique(&'static str),
    Reference,
    Check,
}
use Refusal::{Check, Reference, Unique};

pub struct Case {
    rule: &'static str,
    accepted: &'static [&'static str],
    refused: &'static str,
    how: Refusal,
}

pub const fn case(rule: &'static str, how: Refusal, refused: &'static str) -> Case {
    Case { rule, accepted: &[], refused, how }
}

pub const fn after(accepted: &'static [&'static str], rule: &'static str, how: Refusal, refused: &'static str) -> Case {
    Case { rule, accepted, refused, how }
}

macro_rules! claim {
    ($values:literal) => {
        concat!(
            "INSERT INTO allocation_resource_claims (id, allocation_id, node_id, slot_id, kind, active_mode, fence, claimed_us, released_us, snapshot) VALUES (",
            $values,
            ")"
        )
    };
}

macro_rules! slot {
    ($values:literal) => {
        concat!(
            "INSERT INTO node_resource_slots (partition_ids, capacity_metadata, health_state, health_detail, state_since_us, version, created_us, profile,
               id, node_id, state, gpu_pci_address, gpu_uuid, nvme_identity, mgmt_mac, private_ip, fabric_claim_mode, fabric_vf_pci_address)
             VALUES ('[]', '{}', 'ok', '', 0, 1, 0, 'x', ",
            $values,
            ")"
        )
    };
}

macro_rules! member {
    ($values:literal) => {
        concat!(
            "INSERT INTO members (version, created_us, id, tenant_id, project_id, principal_id, role) VALUES (1, 0, ",
            $values,
            ")"
        )
    };
}

macro_rules! principal {
    ($values:literal) => {
        concat!(
            "INSERT INTO principals (version, created_us, id, kind, name, tenant_id, platform_role) VALUES (1, 0, ",
            $values,
            ")"
        )
    };
}

macro_rules! ssh_key {
    ($values:literal) => {
        concat!(
            "INSERT INTO ssh_keys (public_key, version, created_us, id, tenant_id, project_id, name, fingerprint) VALUES ('line', 1, 0, ",
            $values,
            ")"
        )
    };
}

const END_C1: &str = "UPDATE allocation_resource_claims SET active_mode = NULL, released_us = 6 WHERE id = 'c1'";

const PLACED: &str = "INSERT INTO decisions (id, subject_id, outcome, body, snapshot_version, at_us) VALUES ('x', 'a1', 'placed', '{}', 0, 0)";

const CLAIMS: &[Case] = &[
    after(
        &[PLACED],
        "a second answer to one wish",
        Unique("decisions_one_answer"),
        "INSERT INTO decisions (id, subject_id, outcome, body, snapshot_version, at_us) VALUES ('y', 'a1', 'refused', '{}', 0, 0)",
    ),
    case(
        "a second active claim on a slot",
        Unique("claims_one_active_per_slot"),
        claim!("'x', 'a2', 'n1', 'l1', 'slot', 'sliced', 2, 5, NULL, '{}'"),
    ),
    case(
        "a second exclusive claim on a node",
        Unique("claims_one_exclusive_per_node"),
        claim!("'x', 'a1', 'n2', NULL, 'node_exclusive', 'exclusive', 2, 5, NULL, '{}'"),
    ),
    case("a slice beside bare metal", Reference, claim!("'x', 'a1', 'n2', 'l3', 'slot', 'sliced', 1, 5, NULL, '{}'")),
    case(
        "bare metal beside a slice",
        Reference,
        claim!("'x', 'a2', 'n1', NULL, 'node_exclusive', 'exclusive', 1, 5, NULL, '{}'"),
    ),
    case(
        "a node changes its mode under an active claim",
        Reference,
        "UPDATE node_occupancy SET mode = 'exclusive' WHERE node_id = 'n1'",
    ),
    case(
        "a node becomes free under an active claim",
        Reference,
        "UPDATE node_occupancy SET mode = 'free' WHERE node_id = 'n2'",
    ),
    case(
        "a claim on another node's slot",
        Reference,
        claim!("'x', 'a2', 'n1', 'l3', 'slot', 'sliced', 1, 5, NULL, '{}'"),
    ),
    case("a claim of no allocation", Reference, claim!("'x', 'zz', 'n1', 'l2', 'slot', 'sliced', 1, 5, NULL, '{}'")),
    case("an active claim with an end", Check, claim!("'x', 'a2', 'n1', 'l2', 'slot', 'sliced', 1, 5, 6, '{}'")),
    case("an ended claim without an end", Check, claim!("'x', 'a2', 'n1', 'l2', 'slot', NULL, 1, 5, NULL, '{}'")),
    case("a claim that ends before it began", Check, claim!("'x', 'a2', 'n1', 'l2', 'slot', NULL, 1, 5, 4, '{}'")),
    case("a slot claim without a slot", Check, claim!("'x', 'a2', 'n1', NULL, 'slot', 'sliced', 1, 5, NULL, '{}'")),
    case(
        "a node claim with a slot",
        Check,
        claim!("'x', 'a2', 'n1', 'l2', 'node_exclusive', 'exclusive', 1, 5, NULL, '{}'"),
    ),
    case(
        "a slot claim in exclusive mode",
        Check,
        claim!("'x', 'a1', 'n2', 'l3', 'slot', 'exclusive', 1, 5, NULL, '{}'"),
    ),
    case("a claim with fence 0", Check, claim!("'x', 'a2', 'n1', 'l2', 'slot', 'sliced', 0, 5, NULL, '{}'")),
    case("an unknown kind of claim", Check, claim!("'x', 'a2', 'n1', NULL, 'shared', 'sliced', 1, 5, NULL, '{}'")),
    case("an unknown mode of claim", Check, claim!("'x', 'a2', 'n1', 'l2', 'slot', 'free', 1, 5, NULL, '{}'")),
    after(
        &[END_C1],
        "a fence used twice on a slot",
        Unique("claims_fence"),
        claim!("'x', 'a2', 'n1', 'l1', 'slot', 'sliced', 1, 7, NULL, '{}'"),
    ),
    after(
        &[END_C1, claim!("'x', 'a2', 'n1', 'l1', 'slot', 'sliced', 2, 7, NULL, '{}'")],
        "an ended claim comes back beside a new one",
        Unique("claims_one_active_per_slot"),
        "UPDATE allocation_resource_claims SET active_mode = 'sliced', released_us = NULL WHERE id = 'c1'",
    ),
    after(
        &[END_C1, "UPDATE node_occupancy SET mode = 'free' WHERE node_id = 'n1'"],
        "a slice on a node that is not in sliced mode",
        Reference,
        claim!("'x', 'a2', 'n1', 'l2', 'slot', 'sliced', 1, 7, NULL, '{}'"),
    ),
    case("an unknown occupancy", Check, "UPDATE node_occupancy SET mode = 'half' WHERE node_id = 'n1'"),
    case("occupancy of no node", Reference, "INSERT INTO node_occupancy (node_id, mode) VALUES ('zz', 'free')"),
    case(
        "two occupancies of a node",
        Unique("node_occupancy_pkey"),
        "INSERT INTO node_occupancy (node_id, mode) VALUES ('n1', 'free')",
    ),
];

const CLAIMS_MORE: &[Case] = &[
    after(
        &[END_C1, "UPDATE node_occupancy SET mode = 'free' WHERE node_id = 'n1'"],
        "a claim in free mode",
        Check,
        claim!("'x', 'a2', 'n1', NULL, 'node_exclusive', 'free', 1, 7, NULL, '{}'"),
    ),
    case(
        "an unknown kind in exclusive mode",
        Check,
        claim!("'x', 'a1', 'n2', NULL, 'shared', 'exclusive', 1, 5, NULL, '{}'"),
    ),
    case(
        "an ended claim on no node",
        Reference,
        claim!("'x', 'a1', 'zz', NULL, 'node_exclusive', NULL, 1, 5, 6, '{}'"),
    ),
    case(
        "a disabled slot with an unknown fabric mode",
        Check,
        slot!("'x', 'n1', 'disabled', NULL, NULL, NULL, NULL, NULL, 'shared', NULL"),
    ),
    case(
        "a proof from no node",
        Reference,
        "INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps) VALUES ('x', 'l1', 2, 'zz', 'y', '{}', 0, '', '', '[]')",
    ),
    case(
        "audit number 0",
        Check,
        "INSERT INTO audit (id, seq, actor, action, subject, request_id, body, at_us) VALUES ('x', 0, 'u', 'a', 's', 'r', '{}', 0)",
    ),
];

const SLOTS: &[Case] = &[
    case(
        "an available slot without a GPU",
        Check,
        slot!("'x', 'n1', 'available', NULL, 'u', 'nv', 'm', 'i', 'per_slot_vf', 'v'"),
    ),
    case(
        "an available slot without NVMe",
        Check,
        slot!("'x', 'n1', 'available', 'g', 'u', NULL, 'm', 'i', 'per_slot_vf', 'v'"),
    ),
    case(
        "an available slot without a MAC",
        Check,
        slot!("'x', 'n1', 'available', 'g', 'u', 'nv', NULL, 'i', 'per_slot_vf', 'v'"),
    ),
    case(
        "an available slot without an address",
        Check,
        slot!("'x', 'n1', 'available', 'g', 'u', 'nv', 'm', NULL, 'per_slot_vf', 'v'"),
    ),
    case(
        "an available slot without fabric",
        Check,
        slot!("'x', 'n1', 'available', 'g', 'u', 'nv', 'm', 'i', 'none', 'v'"),
    ),
    case(
        "an available slot without a VF",
        Check,
        slot!("'x', 'n1', 'available', 'g', 'u', 'nv', 'm', 'i', 'per_slot_vf', NULL"),
    ),
    after(
        &[slot!("'x', 'n1', 'disabled', NULL, NULL, NULL, NULL, NULL, 'none', NULL")],
        "an incomplete slot is put on sale",
        Check,
        "UPDATE node_resource_slots SET state = 'available' WHERE id = 'x'",
    ),
    case(
        "a GPU address twice on a node",
        Unique("slots_gpu"),
        slot!("'x', 'n1', 'disabled', 'pci1', NULL, NULL, NULL, NULL, 'none', NULL"),
    ),
    case(
        "a GPU twice",
        Unique("slots_gpu_uuid"),
        slot!("'x', 'n2', 'disabled', NULL, 'uuid1', NULL, NULL, NULL, 'none', NULL"),
    ),
    case(
        "an NVMe twice on a node",
        Unique("slots_nvme"),
        slot!("'x', 'n1', 'disabled', NULL, NULL, 'nvme1', NULL, NULL, 'none', NULL"),
    ),
    case(
        "a MAC twice",
        Unique("slots_mac"),
        slot!("'x', 'n2', 'disabled', NULL, NULL, NULL, 'mac1', NULL, 'none', NULL"),
    ),
    case(
        "an address twice",
        Unique("slots_ip"),
        slot!("'x', 'n2', 'disabled', NULL, NULL, NULL, NULL, 'ip1', 'none', NULL"),
    ),
    case(
        "a VF twice on a node",
        Unique("slots_vf"),
        slot!("'x', 'n1', 'disabled', NULL, NULL, NULL, NULL, NULL, 'none', 'vf1'"),
    ),
    case("an unknown state of a slot", Check, "UPDATE node_resource_slots SET state = 'sold' WHERE id = 'l1'"),
    case(
        "an unknown fabric mode",
        Check,
        "UPDATE node_resource_slots SET fabric_claim_mode = 'shared' WHERE id = 'l1'",
    ),
    case("a negative generation", Check, "UPDATE node_resource_slots SET use_generation = -1 WHERE id = 'l1'"),
    case("a slot of no node", Reference, slot!("'x', 'zz', 'disabled', NULL, NULL, NULL, NULL, NULL, 'none', NULL")),
    case("a slot goes while claimed", Reference, "DELETE FROM node_resource_slots WHERE id = 'l1'"),
    case(
        "two proofs for one challenge",
        Unique("wipe_proofs_slot_id_use_generation_nonce_key"),
        "INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps) VALUES ('x', 'l1', 1, 'n1', 'x', '{}', 0, '', '', '[]')",
    ),
    case(
        "a proof of no slot",
        Reference,
        "INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps) VALUES ('x', 'zz', 1, 'n1', 'y', '{}', 0, '', '', '[]')",
    ),
];

const SUPPLY: &[Case] = &[
    case(
        "a region slug twice",
        Unique("regions_slug_key"),
        "INSERT INTO regions (id, slug, name, enabled, version, created_us) VALUES ('x', 'north', 'x', 0, 1, 0)",
    ),
    case("a region half enabled", Check, "UPDATE regions SET enabled = 2 WHERE id = 'r1'"),
    case("a pool of no region", Reference, "UPDATE pools SET region_id = 'zz' WHERE id = 'o1'"),
    case(
        "a pool slug twice",
        Unique("pools_slug_key"),
        "INSERT INTO pools (id, region_id, slug, name, gpu_model, slices_enabled, version, created_us) VALUES ('x', 'r1', 'h200', 'x', 'x', 0, 1, 0)",
    ),
    case("a pool with half slices", Check, "UPDATE pools SET slices_enabled = 2 WHERE id = 'o1'"),
    case(
        "a SKU slug twice",
        Unique("skus_slug_key"),
        "INSERT INTO skus (id, slug, name, shape, gpu_model, gpu_counts, vcpus_per_gpu, memory_mib_per_gpu, price_micros_per_gpu_hour, enabled, version, created_us) VALUES ('x', 'slice', 'x', 'baremetal', 'x', '[]', 1, 1, 0, 0, 1, 0)",
    ),
    case("a SKU of unknown shape", Check, "UPDATE skus SET shape = 'cloud' WHERE id = 'q1'"),
    case("a SKU without CPUs", Check, "UPDATE skus SET vcpus_per_gpu = 0 WHERE id = 'q1'"),
    case("a SKU without memory", Check, "UPDATE skus SET memory_mib_per_gpu = 0 WHERE id = 'q1'"),
    case("a SKU that pays its user", Check, "UPDATE skus SET price_micros_per_gpu_hour = -1 WHERE id = 'q1'"),
    case("a SKU half enabled", Check, "UPDATE skus SET enabled = -1 WHERE id = 'q1'"),
    case("a node name twice", Unique("nodes_name_key"), "UPDATE nodes SET name = 'host1' WHERE id = 'n2'"),
    case("a node key twice", Unique("nodes_public_key_key"), "UPDATE nodes SET public_key = 'key1' WHERE id = 'n2'"),
    case("a node of no pool", Reference, "UPDATE nodes SET pool_id = 'zz' WHERE id = 'n1'"),
    case(
        "an allocation of another tenant's project",
        Reference,
        "UPDATE allocations SET project_id = 'p2' WHERE id = 'a1'",
    ),
    case("an allocation of no SKU", Reference, "UPDATE allocations SET sku_id = 'zz' WHERE id = 'a1'"),
    case("an allocation in no region", Reference, "UPDATE allocations SET region_id = 'zz' WHERE id = 'a1'"),
    case("an allocation of no GPUs", Check, "UPDATE allocations SET gpu_count = 0 WHERE id = 'a1'"),
    case("an allocation of too many GPUs", Check, "UPDATE allocations SET gpu_count = 65 WHERE id = 'a1'"),
    case(
        "an attempt twice",
        Unique("node_tasks_allocation_id_kind_attempt_key"),
        "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state, state_since_us, input, deadline_us, version, created_us) VALUES ('x', 'n1', 'a1', 'provision', 1, 1, 1, 'pending', 0, '{}', 9, 1, 0)",
    ),
    case("attempt 0", Check, "UPDATE node_tasks SET attempt = 0 WHERE id = 'w1'"),
    case("an unknown state of a task", Check, "UPDATE node_tasks SET state = 'lost' WHERE id = 'w1'"),
    case("a task of no allocation", Reference, "UPDATE node_tasks SET allocation_id = 'zz' WHERE id = 'w1'"),
    case("a task for no node", Reference, "UPDATE node_tasks SET node_id = 'zz' WHERE id = 'w1'"),
];

const HOSTS: &[Case] = &[
    case("a node number twice", Unique("nodes_number"), "UPDATE nodes SET number = 1 WHERE id = 'n2'"),
    case("a number twice in a pool", Unique("nodes_pool_number"), "UPDATE nodes SET pool_number = 1 WHERE id = 'n2'"),
    case(
        "a mainboard twice",
        Unique("nodes_hardware_serial"),
        "UPDATE nodes SET hardware_serial = 'board1' WHERE id = 'n2'",
    ),
    case("an unknown wish for a node", Check, "UPDATE nodes SET desired = 'gone' WHERE id = 'n1'"),
    case("a slot half drifted", Check, "UPDATE node_resource_slots SET drifted = 2 WHERE id = 'l1'"),
    case(
        "an attempt twice at an order about the host",
        Unique("tasks_of_host"),
        "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state, state_since_us, input, deadline_us, version, created_us) VALUES ('x', 'n1', NULL, 'discover', 1, 0, 1, 'pending', 0, '{}', 9, 1, 0)",
    ),
    case(
        "an enrollment secret twice",
        Unique("enrollment_tokens_secret_hash_key"),
        "INSERT INTO enrollment_tokens (id, pool_id, node_name, secret_hash, expires_us, created_by, version, created_us) VALUES ('x', 'o1', 'y', 'hash1', 9, 'u2', 1, 0)",
    ),
    case("an enrollment into no pool", Reference, "UPDATE enrollment_tokens SET pool_id = 'zz' WHERE id = 'h1'"),
    case(
        "an enrollment that became no node",
        Reference,
        "UPDATE enrollment_tokens SET used_us = 1, node_id = 'zz' WHERE id = 'h1'",
    ),
    case("an enrollment used for nothing", Check, "UPDATE enrollment_tokens SET used_us = 1 WHERE id = 'h1'"),
    case("an enrollment used at no time", Check, "UPDATE enrollment_tokens SET node_id = 'n1' WHERE id = 'h1'"),
    case(
        "a certificate twice",
        Unique("node_certificates_pkey"),
        "INSERT INTO node_certificates (serial, node_id, not_after_us, created_us) VALUES ('f1', 'n2', 9, 0)",
    ),
    case("a certificate of no node", Reference, "UPDATE node_certificates SET node_id = 'zz' WHERE serial = 'f1'"),
    case(
        "a kind of incident twice on a node",
        Unique("node_incidents_node_id_kind_key"),
        "INSERT INTO node_incidents (id, node_id, kind, detail, count, first_us, last_us) VALUES ('x', 'n1', 'clock_far_off', 'x', 1, 0, 0)",
    ),
    case("an incident of no node", Reference, "UPDATE node_incidents SET node_id = 'zz' WHERE id = 'j1'"),
    case("an incident that never happened", Check, "UPDATE node_incidents SET count = 0 WHERE id = 'j1'"),
    case(
        "a discovery twice",
        Unique("node_discoveries_pkey"),
        "INSERT INTO node_discoveries (node_id, number, task_id, digest, body, at_us) VALUES ('n1', 1, 'w', 'd', '{}', 0)",
    ),
    case("a discovery of no node", Reference, "UPDATE node_discoveries SET node_id = 'zz'"),
    case("discovery number 0", Check, "UPDATE node_discoveries SET number = 0"),
    case(
        "a device of two nodes",
        Unique("node_devices_pkey"),
        "INSERT INTO node_devices (kind, identity, node_id) VALUES ('gpu', 'uuid1', 'n2')",
    ),
    case("a device of no node", Reference, "UPDATE node_devices SET node_id = 'zz'"),
    case("an unknown kind of device", Check, "UPDATE node_devices SET kind = 'fan'"),
    case(
        "a grant twice",
        Unique("disk_grants_pkey"),
        "INSERT INTO disk_grants (node_id, nvme_identity, reason, granted_by, at_us) VALUES ('n1', 'nvme1', 'y', 'u1', 0)",
    ),
    case("a grant on no node", Reference, "UPDATE disk_grants SET node_id = 'zz'"),
    case(
        "a drift twice",
        Unique("slot_drifts_pkey"),
        "INSERT INTO slot_drifts (slot_id, field, kind, approved, seen, detail, first_us, last_us) VALUES ('l1', 'gpu', 'gone', 'a', 'b', 'c', 0, 0)",
    ),
    case("a drift of no slot", Reference, "UPDATE slot_drifts SET slot_id = 'zz'"),
];

const LAUNCHES: &[Case] = &[
    case(
        "a key's name twice in a project",
        Unique("ssh_keys_project_id_name_key"),
        ssh_key!("'x', 't1', 'p1', 'laptop', 'sha2'"),
    ),
    case(
        "a key twice in a project",
        Unique("ssh_keys_project_id_fingerprint_key"),
        ssh_key!("'x', 't1', 'p1', 'desktop', 'sha1'"),
    ),
    case("a key of another tenant's project", Reference, ssh_key!("'x', 't1', 'p2', 'laptop', 'sha1'")),
    case(
        "a profile twice",
        Unique("slot_profiles_pkey"),
        "INSERT INTO slot_profiles (slug, name, gpu_model, vcpus, memory_mib, min_disk_bytes, version, created_us) VALUES ('g1', 'x', 'x', 1, 1, 0, 1, 0)",
    ),
    case("a profile without CPUs", Check, "UPDATE slot_profiles SET vcpus = 0 WHERE slug = 'g1'"),
    case("a profile of too many CPUs", Check, "UPDATE slot_profiles SET vcpus = 1025 WHERE slug = 'g1'"),
    case("a profile without memory", Check, "UPDATE slot_profiles SET memory_mib = 0 WHERE slug = 'g1'"),
    case("a profile of too much memory", Check, "UPDATE slot_profiles SET memory_mib = 16777217 WHERE slug = 'g1'"),
    case("a profile with less than no disk", Check, "UPDATE slot_profiles SET min_disk_bytes = -1 WHERE slug = 'g1'"),
    case("a SKU of no profile", Reference, "UPDATE skus SET profile = 'zz' WHERE id = 'q1'"),
    after(
        &["UPDATE skus SET profile = 'g1' WHERE id = 'q1'"],
        "a profile goes while it is sold",
        Reference,
        "DELETE FROM slot_profiles WHERE slug = 'g1'",
    ),
    case(
        "an allocation that may half be launched again",
        Check,
        "UPDATE allocations SET may_recreate = 2 WHERE id = 'a1'",
    ),
    case("an allocation half evacuated", Check, "UPDATE allocations SET evacuating = 2 WHERE id = 'a1'"),
    case(
        "an allocation that takes the place of nothing",
        Reference,
        "UPDATE allocations SET recreated_from = 'zz' WHERE id = 'a2'",
    ),
    after(
        &["UPDATE allocations SET recreated_from = 'a1' WHERE id = 'a2'"],
        "an allocation launched again twice",
        Unique("allocations_recreated_once"),
        "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, desired, observed, state, state_since_us, version, created_us, recreated_from) VALUES ('x', 't1', 'p1', 'x', 'q1', 'r1', 'gpu_slice', 1, '{}', '{}', 'requested', 0, 1, 0, 'a1')",
    ),
    case("a PCIe switch below 0", Check, "UPDATE node_resource_slots SET pcie_switch = -1 WHERE id = 'l1'"),
    case("a rail below 0", Check, "UPDATE node_resource_slots SET rail = -1 WHERE id = 'l1'"),
];

const TENANCY: &[Case] = &[
    case("a living tenant's slug twice", Unique("tenants_slug"), "UPDATE tenants SET slug = 'one' WHERE id = 't2'"),
    case(
        "a living project's slug twice",
        Unique("projects_slug"),
        "INSERT INTO projects (id, tenant_id, slug, name, gpu_cap, desired, observed, state, state_since_us, version, created_us) VALUES ('x', 't1', 'web', 'x', 0, '{}', '{}', 'active', 0, 1, 0)",
    ),
    case("a project of no tenant", Reference, "UPDATE projects SET tenant_id = 'zz' WHERE id = 'p2'"),
    case("a negative cap", Check, "UPDATE projects SET gpu_cap = -1 WHERE id = 'p1'"),
    case("a user name twice", Unique("principals_user_name"), principal!("'x', 'user', 'ada', NULL, NULL")),
    case(
        "an account name twice in a tenant",
        Unique("principals_account_name"),
        principal!("'x', 'service_account', 'ci', 't1', NULL"),
    ),
    case("an account as operator", Check, principal!("'x', 'service_account', 'y', 't1', 'platform_operator'")),
    case("an account without a tenant", Check, principal!("'x', 'service_account', 'y', NULL, NULL")),
    case("an unknown kind of principal", Check, principal!("'x', 'robot', 'y', 't1', NULL")),
    case("an unknown platform role", Check, principal!("'x', 'user', 'y', NULL, 'king'")),
    case("a member twice in a tenant", Unique("members_once_in_tenant"), member!("'x', 't1', NULL, 'u1', 'viewer'")),
    case("a member twice in a project", Unique("members_once_in_project"), member!("'x', 't1', 'p1', 's1', 'viewer'")),
    case("a member of another tenant's project", Reference, member!("'x', 't1', 'p2', 'u2', 'viewer'")),
    case("a member of no tenant", Reference, member!("'x', 'zz', NULL, 'u2', 'viewer'")),
    case("nobody as a member", Reference, member!("'x', 't1', NULL, 'zz', 'viewer'")),
    case("a project member without a project", Check, member!("'x', 't1', NULL, 'u2', 'project_member'")),
    case("a tenant admin of one project", Check, member!("'x', 't1', 'p1', 'u2', 'tenant_admin'")),
    case("an unknown role", Check, member!("'x', 't1', NULL, 'u2', 'owner'")),
    case(
        "a token secret twice",
        Unique("tokens_secret_hash_key"),
        "INSERT INTO tokens (id, principal_id, name, secret_hash, scope, expires_us, version, created_us) VALUES ('x', 'u1', 'y', 'hash', 'read', 9, 1, 0)",
    ),
    case("a token of nobody", Reference, "UPDATE tokens SET principal_id = 'zz' WHERE id = 'k1'"),
    case("an unknown scope", Check, "UPDATE tokens SET scope = 'all' WHERE id = 'k1'"),
    case(
        "an unknown state of an operation",
        Check,
        "INSERT INTO operations (id, kind, noun, subject_id, created_by, state, succeeds_in, fails_in, created_us) VALUES ('x', 'k', 'n', 's', 'u1', 'lost', '', '', 0)",
    ),
    case("a column left out", Check, "INSERT INTO tenants (id, slug) VALUES ('x', 'x')"),
    case(
        "a second store identity",
        Check,
        "INSERT INTO store_identity (one, store_id, incarnation) VALUES (2, 'x', 1)",
    ),
    case("incarnation 0", Check, "UPDATE store_identity SET incarnation = 0"),
    case("epoch 0", Check, "INSERT INTO leases (name, holder, epoch, renewals, until_us) VALUES ('x', 'y', 0, 0, 0)"),
    case(
        "an event number twice",
        Unique("events_seq_key"),
        "INSERT INTO events (id, seq, noun, change, subject_id, object_version, at_us) VALUES ('x', 1, 'n', 'c', 's', 1, 0)",
    ),
    case(
        "event number 0",
        Check,
        "INSERT INTO events (id, seq, noun, change, subject_id, object_version, at_us) VALUES ('x', 0, 'n', 'c', 's', 1, 0)",
    ),
    case(
        "two events for one version",
        Unique("events_one_per_version"),
        "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) VALUES ('x', 'tenant', 'changed', 't1', 1, 0)",
    ),
    case(
        "an event of version 0",
        Check,
        "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) VALUES ('x', 'n', 'c', 's', 0, 0)",
    ),
    case(
        "an audit number twice",
        Unique("audit_seq_key"),
        "INSERT INTO audit (id, seq, actor, action, subject, request_id, body, at_us) VALUES ('x', 1, 'u', 'a', 's', 'r', '{}', 0)",
    ),
    case(
        "an answer kept twice",
        Unique("idempotency_pkey"),
        "INSERT INTO idempotency (principal_id, idempotency_key, fingerprint, status, answer, at_us) VALUES ('u1', 'k', 'g', 200, '{}', 0)",
    ),
];

/// What a case found; never `Ok`, so that its transaction is undone and the next case meets the same world.
enum Told {
    Refused(StoreError),
    Accepted,
    Broken(StoreError),
}

impl From<StoreError> for Told {
    fn from(error: StoreError) -> Self {
        Self::Broken(error)
    }
}

impl Case {
    /// Tries the case and says whether the rule bit as it should.
    fn bites(&self, tx: &mut Tx<'_>) -> Result<(), String> {
        let told: Result<(), Told> = tx.savepoint(|tx| {
            for sql in self.accepted {
                tx.execute(sql, &[])?;
            }
            tx.execute(self.refused, &[]).map_or_else(|error| Err(Told::Refused(error)), |_| Err(Told::Accepted))
        });
        let error = match told {
            Err(Told::Refused(error)) => error,
            Err(Told::Broken(error)) => return Err(format!("{}: broken on the way: {error}", self.rule)),
            Err(Told::Accepted) | Ok(()) => return Err(format!("{}: accepted", self.rule)),
        };
        let as_expected = match self.how {
            Unique(name) => error == StoreError::UniqueViolation { constraint: name.to_owned() },
            Reference => error == StoreError::ForeignKeyViolation,
            Check => matches!(error, StoreError::CheckViolation { .. }),
        };
        if as_expected { Ok(()) } else { Err(format!("{}: refused with {error:?}", self.rule)) }
    }
}

fn cases() -> impl Iterator<Item = &'static Case> {
    let here = [CLAIMS, CLAIMS_MORE, SLOTS, SUPPLY, HOSTS, LAUNCHES, TENANCY];
    let elsewhere = [runtime_rules::CASES, proofs::CASES, streams::CASES, machines::CASES, governance::CASES];
    let here = here.into_iter().chain([workloads::CASES, outside::CASES]);
    here.into_iter().chain(elsewhere).flatten()
}

fn build(db: &Db) {
    let world = WORLD.iter().chain(runtime_rules::WORLD).chain(proofs::WORLD);
    db.write(move |tx| world.clone().try_for_each(|sql| tx.execute(sql, &[]).map(drop))).unwrap();
}

#[test]
fn every_rule_refuses_what_it_names() {
    both_engines(|db| {
        build(&db);
        let failures: Vec<String> =
            db.write(|tx| Ok::<_, StoreError>(cases().filter_map(|case| case.bites(tx).err()).collect())).unwrap();
        assert!(failures.is_empty(), "{:?}:\n{}", db.dialect(), failures.join("\n"));
    });
}

#[test]
fn what_the_rules_allow_is_accepted() {
    const ALLOWED: &[&[&str]] = &[
        &[END_C1, claim!("'x', 'a2', 'n1', 'l1', 'slot', 'sliced', 2, 7, NULL, '{}'")],
        &[claim!("'x', 'a2', 'n1', 'l2', 'slot', 'sliced', 1, 5, NULL, '{}'")],
        &[END_C1, "UPDATE node_occupancy SET mode = 'free' WHERE node_id = 'n1'"],
        &[
            END_C1,
            "UPDATE node_occupancy SET mode = 'exclusive' WHERE node_id = 'n1'",
            claim!("'x', 'a1', 'n1', NULL, 'node_exclusive', 'exclusive', 9, 7, NULL, '{}'"),
        ],
        &[
            "UPDATE nodes SET number = 2, pool_number = 2 WHERE id = 'n2'",
            "UPDATE enrollment_tokens SET used_us = 1, node_id = 'n2' WHERE id = 'h1'",
        ],
        &[
            "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, attempt, state, state_since_us, input, deadline_us, version, created_us) VALUES ('x', 'n1', NULL, 'discover', 1, 0, 2, 'pending', 0, '{}', 9, 1, 0), ('y', 'n2', NULL, 'discover', 1, 0, 1, 'pending', 0, '{}', 9, 1, 0)",
        ],
        &[ssh_key!("'x', 't2', 'p2', 'laptop', 'sha1'"), ssh_key!("'y', 't1', 'p1', 'desktop', 'sha2'")],
        &["UPDATE node_resource_slots SET pcie_switch = 0, rail = 0 WHERE id IN ('l1', 'l2')"],
        &["UPDATE tenants SET state = 'deleted' WHERE id = 't1'", "UPDATE tenants SET slug = 'one' WHERE id = 't2'"],
        &["UPDATE members SET removed_us = 1 WHERE id = 'm1'", member!("'x', 't1', NULL, 'u1', 'viewer'")],
        &["UPDATE principals SET removed_us = 1 WHERE id = 'u1'", principal!("'x', 'user', 'ada', NULL, NULL")],
        &[
            slot!("'x', 'n1', 'disabled', NULL, NULL, NULL, NULL, NULL, 'none', NULL"),
            slot!("'y', 'n1', 'disabled', NULL, NULL, NULL, NULL, NULL, 'none', NULL"),
        ],
        &[
            "INSERT INTO events (id, noun, change, subject_id, object_version, at_us) VALUES ('x', 'n', 'c', 's', 1, 0), ('y', 'n', 'c', 's', 2, 0)",
        ],
    ];
    both_engines(|db| {
        build(&db);
        for steps in ALLOWED.iter().chain(runtime_rules::ALLOWED) {
            let told: Result<(), Told> = db.write(|tx| {
                steps.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop))?;
                Err(Told::Accepted)
            });
            assert!(matches!(told, Err(Told::Accepted)), "{:?}: {steps:?}", db.dialect());
        }
    });
}

/// Keys that only carry foreign keys; the primary key already implies them.
const CARRIERS: &[&str] =
    &["projects_tenant_id_id_key", "node_occupancy_node_id_mode_key", "node_resource_slots_node_id_id_key"];

/// The list of cases is complete: whichever rule is dropped, some case notices.
#[test]
fn no_rule_can_be_dropped_unnoticed() {
    let place = Place::new(Dialect::Postgres);
    let db = place.open();
    build(&db);
    let drops = db.read(|tx| {
        let sql = "SELECT conname, 'ALTER TABLE ' || conrelid::regclass || ' DROP CONSTRAINT ' || conname || ' CASCADE'
                   FROM pg_constraint WHERE contype IN ('c', 'f', 'u') AND connamespace = 'public'::regnamespace
                   UNION ALL
                   SELECT indexrelid::regclass::text, 'DROP INDEX ' || indexrelid::regclass
                   FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                   WHERE indisunique AND relnamespace = 'public'::regnamespace
                     AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid) ORDER BY 1";
        let rows = tx.query(sql, &[])?;
        rows.iter()
            .map(|row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned())))
            .collect::<Result<Vec<_>, StoreError>>()
    });
    let drops = drops.unwrap();
    assert!(drops.len() > 80, "{drops:?}");
    let mut unnoticed = Vec::new();
    for (name, sql) in drops.into_iter().filter(|(name, _)| !CARRIERS.contains(&name.as_str())) {
        let sql: &'static str = sql.leak();
        let told: Result<(), Told> = db.write(move |tx| {
            tx.execute(sql, &[])?;
            let noticed = cases().any(|case| case.bites(tx).is_err());
            Err(if noticed { Told::Refused(StoreError::NotFound) } else { Told::Accepted })
        });
        match told {
            Err(Told::Refused(_)) => {}
            Err(Told::Broken(error)) => panic!("{sql}: {error}"),
            Err(Told::Accepted) | Ok(()) => unnoticed.push(name),
        }
    }
    assert!(unnoticed.is_empty(), "no case notices when these are dropped: {unnoticed:?}");
}
