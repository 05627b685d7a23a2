//! Rules about proofs, what two operators say instead of one, and ways in from outside.

use super::{Case, Refusal::Check, Refusal::Reference, Refusal::Unique, case};

/// What the world has besides.
pub(super) const WORLD: &[&str] = &[
    "INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps) VALUES ('b2', 'l1', 1, 'n1', 'x', '{}', 0, 'key1', 'nvme1', '[]')",
    "INSERT INTO refused_proofs (id, slot_id, use_generation, node_id, nonce, fault, body, at_us, public_key, disk_identity, steps)
     VALUES ('b1', 'l1', 1, 'n1', 'x', 'wrong_disk', '{}', 0, 'key1', 'nvme1', '[]')",
    "INSERT INTO wipe_overrides (id, slot_id, use_generation, reason, evidence_ref, requested_by, requested_us, expires_us, state, version)
     VALUES ('v1', 'l1', 1, 'The disk was shredded.', '', 'u1', 1, 2, 'requested', 1)",
    "INSERT INTO ingresses (id, tenant_id, project_id, allocation_id, region_id, protocol, address, public_port, guest_port, state, version, created_us)
     VALUES ('z1', 't1', 'p1', 'a1', 'r1', 'tcp', '203.0.113.9', 2000, 22, 'accepted', 1, 0)",
];

pub(super) const CASES: &[Case] = &[
    case(
        "a proof's id twice",
        Unique("wipe_proofs_pkey"),
        "INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, disk_identity, steps) VALUES ('b2', 'l1', 2, 'n1', 'y', '{}', 0, '', '', '[]')",
    ),
    case(
        "two refused proofs for one challenge",
        Unique("refused_proofs_slot_id_use_generation_nonce_key"),
        "INSERT INTO refused_proofs (id, slot_id, use_generation, node_id, nonce, fault, body, at_us, public_key, disk_identity, steps) VALUES ('x', 'l1', 1, 'n1', 'x', 'wrong_disk', '{}', 0, '', '', '[]')",
    ),
    case("a refused proof of no slot", Reference, "UPDATE refused_proofs SET slot_id = 'zz'"),
    case("a refused proof from no node", Reference, "UPDATE refused_proofs SET node_id = 'zz'"),
    case("an override of no slot", Reference, "UPDATE wipe_overrides SET slot_id = 'zz'"),
    case("an override of no use", Check, "UPDATE wipe_overrides SET use_generation = 0"),
    case("an override for a word", Check, "UPDATE wipe_overrides SET reason = 'broken'"),
    case("an override that nobody asked for", Reference, "UPDATE wipe_overrides SET requested_by = 'zz'"),
    case(
        "an override that nobody decided",
        Reference,
        "UPDATE wipe_overrides SET state = 'approved', decided_by = 'zz', decided_us = 1",
    ),
    case(
        "one person overrides alone",
        Check,
        "UPDATE wipe_overrides SET state = 'approved', decided_by = 'u1', decided_us = 1",
    ),
    case("an override decided at no time", Check, "UPDATE wipe_overrides SET state = 'approved', decided_by = 'u2'"),
    case("an override decided and still open", Check, "UPDATE wipe_overrides SET decided_by = 'u2', decided_us = 1"),
    case("an override approved by nobody", Check, "UPDATE wipe_overrides SET state = 'approved'"),
    case("an override that expired before it was asked for", Check, "UPDATE wipe_overrides SET expires_us = 1"),
    case(
        "an unknown state of an override",
        Check,
        "UPDATE wipe_overrides SET state = 'lost', decided_by = 'u2', decided_us = 1",
    ),
    case(
        "two open overrides of one use",
        Unique("wipe_overrides_one_open"),
        "INSERT INTO wipe_overrides (id, slot_id, use_generation, reason, evidence_ref, requested_by, requested_us, expires_us, state, version) VALUES ('x', 'l1', 1, 'The disk was shredded.', '', 'u2', 1, 2, 'requested', 1)",
    ),
    case(
        "an address and port twice",
        Unique("ingresses_address_public_port_key"),
        "INSERT INTO ingresses (id, tenant_id, project_id, allocation_id, region_id, protocol, address, public_port, guest_port, state, version, created_us) VALUES ('x', 't1', 'p1', 'a2', 'r1', 'udp', '203.0.113.9', 2000, 53, 'accepted', 1, 0)",
    ),
    case("a way in of another tenant's project", Reference, "UPDATE ingresses SET project_id = 'p2'"),
    case("a way in to no allocation", Reference, "UPDATE ingresses SET allocation_id = 'zz'"),
    case("a way in to no region", Reference, "UPDATE ingresses SET region_id = 'zz'"),
    case("a way in for what does not travel", Check, "UPDATE ingresses SET protocol = 'icmp'"),
    case("a public port below 1", Check, "UPDATE ingresses SET public_port = 0"),
    case("a guest's port above 65535", Check, "UPDATE ingresses SET guest_port = 65536"),
    case("an unknown state of a way in", Check, "UPDATE ingresses SET state = 'open'"),
];
