//! Drift: what a host shows that is not as approved, field by field, seen and forgotten again.

use serde_json::{Value, json};
use store::testing::both_engines;
use topology::{
    PciAddress, Tree,
    simulated::{drift, trees},
};

use crate::fleet::{Fleet, healthy, spec};

fn place(slot: &Value, field: &str) -> PciAddress {
    slot[field].as_str().unwrap().parse().unwrap()
}

fn disk(slot: &Value) -> String {
    slot["nvme_identity"].as_str().unwrap().to_owned()
}

/// What can happen to the first slot of a host, and what is shown then.
type Happening = (fn(&mut Tree, &Value) -> bool, &'static str, &'static str);

const HAPPENINGS: &[Happening] = &[
    (|tree, slot| drift::remove_gpu(tree, place(slot, "gpu_pci_address")), "gpu_pci_address", "gone"),
    (|tree, slot| drift::bind(tree, place(slot, "gpu_pci_address"), Some("nouveau")), "gpu_driver", "driver_changed"),
    (|tree, slot| drift::degrade_link(tree, place(slot, "gpu_pci_address"), 4), "gpu_link", "link_degraded"),
    (|tree, slot| drift::replace_disk(tree, &disk(slot), "eui.brand-new"), "nvme_identity", "replaced"),
    (|tree, slot| drift::mount_disk(tree, &disk(slot), "/data"), "nvme_identity", "disk_mounted"),
    (|tree, slot| drift::remove_vf(tree, place(slot, "fabric_vf_pci_address")), "fabric_vf_pci_address", "vf_changed"),
];

#[test]
fn each_change_is_shown_on_its_slot_and_field_and_cleared_when_it_is_undone() {
    let fleet = Fleet::new();
    let node = fleet.promoted(1);
    let slot = fleet.slots(&node).remove(0);
    let path = format!("/api/v1/admin/resource-slots/{}", slot["id"].as_str().unwrap());
    let free = || fleet.get("/api/v1/availability")["items"][0]["slice_gpus"].as_i64().unwrap();
    for (change, field, kind) in HAPPENINGS {
        let mut tree = healthy(1);
        assert!(change(&mut tree, &slot), "{field} {kind}");
        let version = fleet.get(&path)["version"].as_i64().unwrap();
        assert_eq!(fleet.look(&node, &tree)["state"], "succeeded");
        let shown = fleet.get(&path);
        let drifts: Vec<_> = shown["drift"].as_array().unwrap().iter().map(|d| (&d["field"], &d["kind"])).collect();
        assert_eq!(drifts, [(&json!(field), &json!(kind))], "{shown}");
        assert_eq!((&shown["execution"], shown["version"].as_i64()), (&json!("available"), Some(version + 1)));
        fleet.world.pass(2);
        assert!(free() < 8, "{field} {kind}: it is not sold");
        let first = shown["drift"][0]["first_seen_at"].clone();
        fleet.world.pass(60);
        fleet.look(&node, &tree);
        let later = fleet.get(&path);
        assert_eq!(later["version"].as_i64(), Some(version + 1), "nothing new");
        assert_eq!(later["drift"][0]["first_seen_at"], first);
        assert_ne!(later["drift"][0]["last_seen_at"], first);
        fleet.look(&node, &healthy(1));
        let cleared = fleet.get(&path);
        assert_eq!((&cleared["drift"], cleared["version"].as_i64()), (&json!([]), Some(version + 2)));
        fleet.world.pass(2);
        assert_eq!(free(), 8, "{field} {kind}");
    }
    let told = fleet.world.count("SELECT COUNT(*) FROM events WHERE reason = 'drifted'");
    let cleared = fleet.world.count("SELECT COUNT(*) FROM events WHERE reason = 'drift_cleared'");
    let happenings = i64::try_from(HAPPENINGS.len()).unwrap();
    assert!(told >= happenings && told == cleared, "{told} {cleared}");
}

#[test]
fn drift_is_kept_in_both_engines_and_touches_only_what_drifted() {
    both_engines(|db| {
        let fleet = Fleet::on(db);
        let node = fleet.approved(1);
        let mut tree = healthy(1);
        assert!(drift::mount_disk(&mut tree, &trees::wwid(&spec(1), 3), "/data"));
        fleet.look(&node, &tree);
        let slots = fleet.slots(&node);
        let drifted: Vec<&Value> = slots.iter().filter(|slot| slot["drift"] != json!([])).collect();
        assert_eq!(drifted.len(), 1);
        assert_eq!(disk(drifted[0]), trees::wwid(&spec(1), 3));
        assert_eq!(drifted[0]["drift"][0]["approved"], "not used by the host");
        let shown = fleet.get(&Fleet::path(&node, ""));
        assert!(shown["projected"].as_str().unwrap().contains("1 drifted"), "{}", shown["projected"]);
    });
}
