//! The rules of images, of what launches bring, of laboratories and of what hosts report: cases for [`crate::constraints`],
//! which runs them all, and a store from before that is taken along whole.

use crate::constraints::{
    Case,
    Refusal::{Check, Reference, Unique},
    after, case,
};
use store::testing::both_places;
use store::{Db, DbConfig, StoreError, migrate::MIGRATIONS};

/// What the world has besides.
pub const WORLD: &[&str] = &[
    "INSERT INTO image_keys (key_id, public_key, added_by, version, created_us) VALUES ('k1', 'pub1', 'u2', 1, 0)",
    "INSERT INTO images (id, sha256, kind, spec, signer_key_id, state, is_default, version, created_us)
     VALUES ('i1', 'aa', 'base', '{}', 'k1', 'available', 1, 1, 0), ('i2', 'bb', 'cuda', '{}', 'k1', 'registered', 0, 1, 0)",
    "INSERT INTO node_reports (node_id, kind, task_id, body, at_us) VALUES ('n1', 'slice.reconcile', 'w2', '{}', 0)",
];

macro_rules! lab_slot {
    ($values:literal) => {
        concat!(
            "INSERT INTO node_resource_slots (partition_ids, capacity_metadata, health_state, health_detail, state_since_us, version, created_us,
               id, node_id, profile, state, gpu_pci_address, gpu_uuid, nvme_identity, mgmt_mac, private_ip, fabric_claim_mode, fabric_vf_pci_address)
             VALUES ('[]', '{}', 'ok', '', 0, 1, 0, 'x', 'n1', ",
            $values,
            ")"
        )
    };
}

pub const CASES: &[Case] = &[
    case(
        "a key of images twice under two names",
        Unique("image_keys_public_key_key"),
        "INSERT INTO image_keys (key_id, public_key, added_by, version, created_us) VALUES ('k2', 'pub1', 'u2', 1, 0)",
    ),
    case("an image signed by nobody", Reference, "UPDATE images SET signer_key_id = 'zz' WHERE id = 'i1'"),
    case("an image of an unknown kind", Check, "UPDATE images SET kind = 'windows' WHERE id = 'i1'"),
    case("an image in an unknown state", Check, "UPDATE images SET state = 'lost' WHERE id = 'i2'"),
    case("an image that is half the default", Check, "UPDATE images SET is_default = 2 WHERE id = 'i1'"),
    after(
        &["UPDATE images SET is_default = 0 WHERE id = 'i1'"],
        "a default that cannot be launched",
        Check,
        "UPDATE images SET is_default = 1 WHERE id = 'i2'",
    ),
    after(
        &["UPDATE images SET state = 'available' WHERE id = 'i2'"],
        "two defaults",
        Unique("images_one_default"),
        "UPDATE images SET is_default = 1 WHERE id = 'i2'",
    ),
    case(
        "more for cloud-init than may be",
        Check,
        "UPDATE allocations SET user_data = REPLACE(REPLACE(REPLACE('xxxxxxxxxxxxxxxx', 'x', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'), 'y', 'zzzzzzzzzzzzzzzz'), 'z', 'xxxxx') WHERE id = 'a1'",
    ),
    case(
        "huge pages of a size that there is not",
        Check,
        "UPDATE slot_profiles SET hugepage_kib = 4 WHERE slug = 'g1'",
    ),
    case("a profile for sale without a GPU", Check, "UPDATE slot_profiles SET needs_gpu = 0 WHERE slug = 'g1'"),
    case("a profile for sale without fabric", Check, "UPDATE slot_profiles SET needs_fabric = 0 WHERE slug = 'g1'"),
    case(
        "a slot for sale without a GPU that only looks like a laboratory's",
        Check,
        lab_slot!("'lab', 'available', NULL, NULL, 'loop:/a', 'm', 'i', 'none', NULL"),
    ),
    case(
        "a laboratory's slot without a disk",
        Check,
        lab_slot!("'lab-vm', 'available', NULL, NULL, NULL, 'm', 'i', 'none', NULL"),
    ),
    case(
        "a laboratory's slot with a GPU",
        Check,
        lab_slot!("'lab-vm', 'available', 'g', NULL, 'loop:/a', 'm', 'i', 'none', NULL"),
    ),
    case(
        "a report of an unknown kind",
        Check,
        "INSERT INTO node_reports (node_id, kind, task_id, body, at_us) VALUES ('n1', 'gossip', 'w2', '{}', 0)",
    ),
    case(
        "a report of no node",
        Reference,
        "INSERT INTO node_reports (node_id, kind, task_id, body, at_us) VALUES ('zz', 'slice.plan', 'w2', '{}', 0)",
    ),
    case("a drift that nobody said", Check, "UPDATE slot_drifts SET said_by = 'somebody' WHERE slot_id = 'l1'"),
];

/// What these rules allow.
pub const ALLOWED: &[&[&str]] = &[
    &[lab_slot!("'lab-vm', 'available', NULL, NULL, 'loop:/a', 'm', 'i', 'none', NULL")],
    &[
        "INSERT INTO slot_profiles (slug, name, gpu_model, vcpus, memory_mib, min_disk_bytes, version, created_us, needs_gpu, needs_fabric, hugepage_kib)
         VALUES ('lab-vm', 'Lab', 'lab', 1, 512, 0, 1, 0, 0, 0, 2048)",
    ],
    &["UPDATE images SET is_default = 0 WHERE id = 'i1'", "UPDATE images SET state = 'retired' WHERE id = 'i1'"],
    &[
        "INSERT INTO slot_drifts (slot_id, field, kind, approved, seen, detail, first_us, last_us, said_by) VALUES ('l1', 'gpu', 'gone', 'a', 'b', 'c', 0, 0, 'plan')",
    ],
];

/// Slots, claims, proofs and drifts from before are the same afterwards, and still refer to each other.
#[test]
fn slots_and_what_refers_to_them_are_taken_along() {
    const BEFORE: usize = 6;
    const PROOF: &str = "INSERT INTO wipe_proofs (slot_id, use_generation, node_id, nonce, body, at_us) VALUES ('l1', 1, 'n1', 'x', '{}', 0)";
    both_places(|place| {
        let old = Db::open(&DbConfig { migrations: &MIGRATIONS[..BEFORE], ..place.config() }).unwrap();
        old.write(|tx| {
            crate::constraints::WORLD.iter().chain(&[PROOF]).try_for_each(|sql| tx.execute(sql, &[]).map(drop))
        })
        .unwrap();
        let cells = |db: &Db| {
            db.read(|tx| {
                let mut found = Vec::new();
                for sql in [
                    "SELECT id || node_id || state || gpu_pci_address || nvme_identity || private_ip || version FROM node_resource_slots ORDER BY id",
                    "SELECT id || allocation_id || node_id || kind || fence || claimed_us FROM allocation_resource_claims ORDER BY id",
                    "SELECT slot_id || use_generation || nonce FROM wipe_proofs",
                    "SELECT slot_id || field || kind || approved || seen FROM slot_drifts",
                ] {
                    for row in &tx.query(sql, &[])? {
                        found.push(row.text(0)?.to_owned());
                    }
                }
                Ok::<_, StoreError>(found)
            })
            .unwrap()
        };
        let before = cells(&old);
        assert_eq!(before.len(), 7, "{before:?}");
        drop(old);
        let db = place.open();
        assert_eq!(cells(&db), before);
        let gone = db.write(|tx| tx.execute("DELETE FROM node_resource_slots WHERE id = 'l1'", &[]).map(drop));
        assert_eq!(gone, Err(StoreError::ForeignKeyViolation));
    });
}
