//! Drift: what happened to a host after a slot was approved, and what is no drift at all.
#![allow(clippy::unwrap_used)]

use topology::{
    ApprovedSlot, Drift, DriftKind as Kind, Naming, PciAddress, SlotField as Field, Tree, candidates, discover,
    drift::drift,
    simulated::{HostSpec, drift as happen, trees},
};

const GPU: &str = "0000:18:00.0";
const FUNCTION: &str = "0000:19:00.1";
const DISK: &str = "0000:1a:00.0";

fn at(text: &str) -> PciAddress {
    text.parse().unwrap()
}

fn host() -> Tree {
    trees::hgx_h200(&HostSpec { number: 1, name: "h200-01".into(), gpus: 8 })
}

fn approved_on(tree: &Tree) -> ApprovedSlot {
    let discovery = discover(tree);
    let naming = Naming { node_number: 1, pool_number: 0, pool_range: None };
    let candidate = candidates(&discovery, &naming).swap_remove(0);
    assert_eq!(candidate.devices.gpu_pci_address.as_deref(), Some(GPU));
    ApprovedSlot::at_approval(candidate.devices, candidate.gpu_uuid, &discovery)
}

/// What is seen of a slot after something happened.
fn after(change: impl FnOnce(&mut Tree)) -> Vec<Drift> {
    let mut tree = host();
    let approved = approved_on(&tree);
    change(&mut tree);
    let discovery = discover(&tree);
    let drifts = drift(&approved, &discovery);
    assert_eq!(drifts, drift(&approved, &discovery), "the same every time");
    drifts
}

#[track_caller]
fn only(drifts: Vec<Drift>, field: Field, kind: Kind) -> Drift {
    let [drift] = drifts.as_slice() else { panic!("expected one drift: {drifts:#?}") };
    assert_eq!((drift.field, drift.kind), (field, kind), "{drift:#?}");
    assert!(drift.detail.ends_with('.'));
    drift.clone()
}

#[test]
fn a_host_that_did_not_change_has_no_drift() {
    assert_eq!(after(|_| {}), []);
    let evidence = approved_on(&host());
    assert_eq!(evidence.gpu_driver.as_deref(), Some("nvidia"));
    assert_eq!(evidence.nvme_pci_address, Some(at(DISK)));
    assert_eq!(evidence.fabric_parent_pci_address, Some(at("0000:19:00.0")));
    assert_eq!(evidence.gpu_link.unwrap().width, Some(16));
}

#[test]
fn what_happens_to_a_neighbour_is_not_this_slots_drift() {
    let neighbour = after(|tree| {
        assert!(happen::remove_gpu(tree, at("0000:2a:00.0")));
        assert!(happen::degrade_link(tree, at("0000:3a:00.0"), 8));
        assert!(happen::remove_vf(tree, at("0000:19:00.2")));
        assert!(happen::mount_disk(tree, "eui.0025380000000103", "/data"));
    });
    assert_eq!(neighbour, []);
}

#[test]
fn a_gpu_that_is_gone_moved_or_replaced_is_told_apart() {
    let gone = only(after(|tree| assert!(happen::remove_gpu(tree, at(GPU)))), Field::GpuPciAddress, Kind::Gone);
    assert_eq!((gone.approved.as_str(), gone.seen), (GPU, None));

    let nvml = |tree: &mut Tree, from: &str, to: &str| {
        let text = tree.text("probe/nvml.json").unwrap().replace(from, to);
        tree.insert_file("probe/nvml.json", text).unwrap();
    };
    let replaced = after(|tree| nvml(tree, "GPU-00000001-0005", "GPU-0000abcd-0005"));
    let replaced = only(replaced, Field::GpuUuid, Kind::Replaced);
    assert!(replaced.seen.unwrap().starts_with("GPU-0000abcd"));

    let swapped = after(|tree| {
        nvml(tree, "GPU-00000001-0005-4000-8000-0053494d0018", "GPU-new");
        nvml(tree, "GPU-00000001-0007-4000-8000-0053494d002a", "GPU-00000001-0005-4000-8000-0053494d0018");
    });
    let moved = only(swapped, Field::GpuPciAddress, Kind::Moved);
    assert_eq!(moved.seen.as_deref(), Some("0000:2a:00.0"));

    let renumbered = after(|tree| nvml(tree, "\"module_id\": 5", "\"module_id\": 12"));
    assert_eq!(only(renumbered, Field::GpuModuleId, Kind::Moved).seen.as_deref(), Some("12"));
    let rewired = after(|tree| {
        let place = tree.resolve(&format!("sys/bus/pci/devices/{GPU}/numa_node")).unwrap();
        tree.insert_file(&place, "1\n").unwrap();
    });
    assert_eq!(only(rewired, Field::NumaNode, Kind::Moved).seen.as_deref(), Some("1"));
}

#[test]
fn another_driver_is_drift_and_waiting_for_a_guest_is_not() {
    let nouveau = after(|tree| assert!(happen::bind(tree, at(GPU), Some("nouveau"))));
    assert_eq!(only(nouveau, Field::GpuDriver, Kind::DriverChanged).seen.as_deref(), Some("nouveau"));
    let none = after(|tree| assert!(happen::bind(tree, at(GPU), None)));
    assert_eq!(only(none, Field::GpuDriver, Kind::DriverChanged).seen, None);
    let held = after(|tree| {
        assert!(happen::bind(tree, at(GPU), Some("vfio-pci")));
        assert!(happen::bind(tree, at(DISK), Some("vfio-pci")));
    });
    assert_eq!(held, [], "a guest has the slot, and nobody can look at its devices");
}

#[test]
fn a_slower_or_narrower_link_is_drift_and_a_better_one_is_not() {
    let narrow =
        only(after(|tree| assert!(happen::degrade_link(tree, at(GPU), 8))), Field::GpuLink, Kind::LinkDegraded);
    assert_eq!((narrow.approved.as_str(), narrow.seen.as_deref()), ("32.0 GT/s x16", Some("32.0 GT/s x8")));
    let slow = after(|tree| {
        let place = tree.resolve(&format!("sys/bus/pci/devices/{GPU}/current_link_speed")).unwrap();
        tree.insert_file(&place, "2.5 GT/s PCIe\n").unwrap();
    });
    assert_eq!(only(slow, Field::GpuLink, Kind::LinkDegraded).seen.as_deref(), Some("2.5 GT/s x16"));
    let mut tree = host();
    happen::degrade_link(&mut tree, at(GPU), 8);
    let approved = approved_on(&tree);
    assert_eq!(drift(&approved, &discover(&host())), []);
}

#[test]
fn a_disk_that_is_gone_moved_replaced_or_used_is_told_apart() {
    let mine = "eui.0025380000000102";
    let replaced = after(|tree| assert!(happen::replace_disk(tree, mine, "eui.77")));
    assert_eq!(only(replaced, Field::NvmeIdentity, Kind::Replaced).seen.as_deref(), Some("eui.77"));

    let gone = after(|tree| {
        assert!(happen::bind(tree, at(DISK), None));
        let place = tree.resolve(&format!("sys/bus/pci/devices/{DISK}")).unwrap();
        tree.remove(&place);
        tree.remove(&format!("sys/bus/pci/devices/{DISK}"));
    });
    assert_eq!(only(gone, Field::NvmeIdentity, Kind::Gone).seen, None);
    let unbound = after(|tree| assert!(happen::bind(tree, at(DISK), None)));
    only(unbound, Field::NvmeIdentity, Kind::Gone);

    let moved = after(|tree| {
        assert!(happen::replace_disk(tree, mine, "eui.77"));
        assert!(happen::replace_disk(tree, "eui.0025380000000103", mine));
    });
    assert_eq!(only(moved, Field::NvmeIdentity, Kind::Moved).seen.as_deref(), Some("0000:2c:00.0"));

    let mounted = after(|tree| assert!(happen::mount_disk(tree, mine, "/data")));
    let mounted = only(mounted, Field::NvmeIdentity, Kind::DiskMounted);
    assert_eq!(mounted.seen.as_deref(), Some("mounted at /data"));
    let held = after(|tree| {
        let place = tree.resolve("sys/block/nvme2n1").unwrap();
        tree.insert_link(&format!("{place}/holders/dm-0"), "nowhere").unwrap();
        tree.insert_file("proc/swaps", "Filename\n/dev/nvme2n1 partition 9 0 -2\n").unwrap();
    });
    let held = only(held, Field::NvmeIdentity, Kind::DiskMounted);
    assert_eq!(held.seen.as_deref(), Some("swapped to, held by dm-0"));
}

#[test]
fn a_virtual_function_that_is_gone_or_another_one_is_drift() {
    let gone = after(|tree| assert!(happen::remove_vf(tree, at(FUNCTION))));
    assert_eq!(only(gone, Field::FabricVfPciAddress, Kind::VfChanged).seen, None);
    let other_card = after(|tree| {
        let place = tree.resolve(&format!("sys/bus/pci/devices/{FUNCTION}")).unwrap();
        tree.insert_link(&format!("{place}/physfn"), "../0000:2b:00.0").unwrap();
    });
    let other_card = only(other_card, Field::FabricVfPciAddress, Kind::VfChanged);
    assert_eq!(other_card.seen.as_deref(), Some("virtual function of 0000:2b:00.0"));
    let whole = after(|tree| {
        let place = tree.resolve(&format!("sys/bus/pci/devices/{FUNCTION}")).unwrap();
        tree.remove(&format!("{place}/physfn"));
    });
    assert_eq!(only(whole, Field::FabricVfPciAddress, Kind::VfChanged).seen.as_deref(), Some("physical function"));
}

#[test]
fn several_things_at_once_are_all_told() {
    let drifts = after(|tree| {
        assert!(happen::degrade_link(tree, at(GPU), 4));
        assert!(happen::mount_disk(tree, "eui.0025380000000102", "/data"));
        assert!(happen::remove_vf(tree, at(FUNCTION)));
    });
    let kinds: Vec<Kind> = drifts.iter().map(|drift| drift.kind).collect();
    assert_eq!(kinds, [Kind::LinkDegraded, Kind::DiskMounted, Kind::VfChanged]);
}

#[test]
fn nothing_happens_to_what_is_not_there() {
    let mut tree = host();
    let nowhere = at("0000:77:00.0");
    assert!(!happen::remove_gpu(&mut tree, nowhere) && !happen::bind(&mut tree, nowhere, None));
    assert!(!happen::degrade_link(&mut tree, nowhere, 8) && !happen::remove_vf(&mut tree, nowhere));
    assert!(!happen::share_iommu_group(&mut tree, nowhere, at(GPU)) && !happen::remove_vf(&mut tree, at(GPU)));
    assert!(!happen::replace_disk(&mut tree, "eui.77", "eui.78") && !happen::mount_disk(&mut tree, "eui.77", "/"));
    assert_eq!(tree, host());
}
