//! What is found on simulated hosts, what is proposed for them, and that nothing a host shows can bring discovery down.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use topology::{
    Candidate, Discovery, Entry, Locality, ModuleId, Naming, PciAddress, ReadinessCheckName as Check,
    ReadinessState as State, Tree, candidates, discover,
    discovery::{FabricRole, GpuVendor, LinkLayer},
    locality,
    readiness::readiness,
    simulated::{HostSpec, a100_partitions, drift, hgx_partitions, trees},
};

fn spec(number: u32, gpus: u32) -> HostSpec {
    HostSpec { number, name: format!("host-{number}"), gpus }
}

fn h200() -> Tree {
    trees::hgx_h200(&spec(1, 8))
}

fn at(text: &str) -> PciAddress {
    text.parse().unwrap()
}

fn proposed(tree: &Tree) -> Vec<Candidate> {
    let pool_range = Some("10.64.0.0/12".parse().unwrap());
    candidates(&discover(tree), &Naming { node_number: 1, pool_number: 0, pool_range })
}

/// Writes a file of a function anew.
fn rewrite(tree: &mut Tree, path: &str, text: &str) {
    let (directory, name) = path.rsplit_once('/').unwrap();
    let place = tree.resolve(directory).unwrap();
    tree.insert_file(&format!("{place}/{name}"), text).unwrap();
}

#[test]
fn an_hgx_host_is_found_as_it_is_built() {
    let found = discover(&h200());
    assert_eq!(found.notes, []);
    assert_eq!(found.partitions, Some(hgx_partitions()));
    let modules: Vec<u32> = found.gpus.iter().map(|gpu| gpu.module_id.unwrap().0).collect();
    assert_eq!(modules, [5, 7, 6, 8, 1, 3, 2, 4], "module ids are not in the order of the bus");
    let nodes: Vec<u32> = found.gpus.iter().map(|gpu| gpu.pci.numa_node.unwrap()).collect();
    assert_eq!(nodes, [0, 0, 0, 0, 1, 1, 1, 1]);
    let gpu = &found.gpus[0];
    assert_eq!(
        gpu.bars.iter().map(|bar| (bar.index, bar.bytes >> 20)).collect::<Vec<_>>(),
        [(0, 16), (2, 262_144), (4, 32)]
    );
    assert_eq!(gpu.reset_methods, ["flr", "bus"]);
    assert_eq!(gpu.pci.switches, [at("0000:16:00.0")]);
    assert_eq!((found.nvswitches.len(), found.nvme_disks.len(), found.bluefield_functions.len()), (4, 10, 3));
    assert_eq!(found.other[0].vendor_id.as_deref(), Some("1a03"), "the console is listed, and is no GPU to sell");
    for switch in &found.pcie_switches {
        assert_eq!((switch.gpus.len(), switch.nvme.len(), switch.fabric.len()), (1, 1, 5), "{switch:?}");
    }
    let ports = found.fabric_functions.iter().filter(|f| f.role == FabricRole::Physical && !f.bluefield);
    for port in ports {
        assert_eq!((port.vfs.len(), port.vfs_max), (4, Some(16)));
        assert_eq!(port.ports[0].link_layer, Some(LinkLayer::Infiniband));
        assert_eq!((port.ports[0].state.as_deref(), port.ports[0].rate_mbps), (Some("active"), Some(400_000)));
    }
    let own: Vec<&str> =
        found.nvme_disks.iter().filter(|disk| disk.system_disk).map(|disk| disk.name.as_deref().unwrap()).collect();
    assert_eq!(own, ["nvme0n1", "nvme1n1"], "both disks under the mirror carry the host");
    assert_eq!(found.nvme_disks[1].mount_points(), ["/"], "only through the mirror");
}

#[test]
fn hosts_differ_in_everything_that_is_unique_and_nothing_else() {
    let unique = |found: &Discovery| {
        let mut all: Vec<String> =
            found.gpus.iter().flat_map(|gpu| [gpu.uuid.clone(), gpu.serial.clone()]).flatten().collect();
        all.extend(found.nvme_disks.iter().flat_map(|disk| [disk.identity.clone(), disk.serial.clone()]).flatten());
        all.extend(found.fabric_functions.iter().filter_map(|function| function.node_guid.clone()));
        let interfaces = found.fabric_functions.iter().flat_map(|f| &f.interfaces);
        all.extend(interfaces.filter_map(|interface| interface.hardware_address.clone()));
        all.push(found.host.serial.clone().unwrap());
        all
    };
    let mut seen = std::collections::BTreeSet::new();
    for number in [0, 1, 2, 255, 256, 9_999, 65_536, 70_000] {
        for value in unique(&discover(&trees::hgx_h200(&spec(number, 8)))) {
            assert!(seen.insert(value.clone()), "{value} on host {number} was seen before");
        }
    }
    assert_eq!(h200(), h200());
}

#[test]
fn smaller_boards_and_other_boards_report_their_own_tables() {
    let half = discover(&trees::hgx_h200(&spec(1, 4)));
    assert_eq!((half.gpus.len(), half.notes.len()), (4, 0));
    let sets: Vec<Vec<u32>> =
        half.partitions.unwrap().sets().iter().map(|set| set.iter().map(|module| module.0).collect()).collect();
    assert_eq!(sets, [vec![1, 2, 3, 4], vec![1, 3], vec![2, 4], vec![1], vec![2], vec![3], vec![4]]);

    let a100 = discover(&trees::a100(&spec(2, 8)));
    assert_eq!((a100.partitions.clone(), a100.notes.len()), (Some(a100_partitions()), 0));
    assert!(readiness(&a100).ready());
    assert!(a100.pcie_switches.iter().all(|switch| switch.gpus.len() == 2));
}

#[test]
fn slots_that_share_a_switch_or_a_port_share_its_number() {
    let places = |tree: &Tree| -> Vec<(Option<u32>, Option<u32>)> {
        let found = discover(tree);
        let places = proposed(tree).into_iter().map(|candidate| locality(&candidate.devices, &found));
        places.map(|place| (place.pcie_switch, place.rail)).collect()
    };
    let own = |number: u32| (Some(number), Some(number));
    assert_eq!(places(&h200()), (0..8).map(own).collect::<Vec<_>>(), "a switch and a port for every GPU");
    let a100 = places(&trees::a100(&spec(2, 8)));
    let switches: Vec<Option<u32>> = a100.iter().map(|place| place.0).collect();
    assert_eq!(switches, [0, 0, 1, 1, 2, 2, 3, 3].map(Some), "two GPUs a switch");
    for (gpu, rail) in &a100 {
        assert!(rail.is_some(), "{gpu:?}");
    }

    // What the host does not show, or what a slot does not have, is not known.
    let found = discover(&h200());
    let mut devices = proposed(&h200()).swap_remove(3).devices;
    devices.fabric_vf_pci_address = None;
    assert_eq!(locality(&devices, &found), Locality { pcie_switch: Some(3), rail: None });
    assert_eq!(locality(&devices, &discover(&Tree::default())), Locality::default());
}

#[test]
fn a_ready_host_says_so_and_a_broken_one_says_what_to_do() {
    let ready = readiness(&discover(&h200()));
    assert!(ready.ready() && !ready.reboot_required);
    assert_eq!(ready.checks.len(), Check::ALL.len());
    let broken = readiness(&discover(&trees::half_broken(&spec(3, 8))));
    assert!(!broken.ready() && broken.reboot_required);
    let blocking: Vec<Check> = broken.blocking().map(|check| check.check).collect();
    assert_eq!(blocking, [Check::Iommu, Check::Ovs]);
    assert!(broken.checks.iter().all(|check| (check.state == State::Ok) == check.remedy.is_none()));
    let nothing = readiness(&discover(&Tree::default()));
    assert!(!nothing.ready());
    let none = topology::Readiness { checks: Vec::new(), reboot_required: false };
    assert!(!none.ready(), "no checks are no evidence");
}

/// How the one check that a change spoils comes out, and whether putting it right takes a reboot.
#[track_caller]
fn spoiled(check: Check, change: &dyn Fn(&mut Tree)) -> (State, bool) {
    let mut tree = h200();
    change(&mut tree);
    let readiness = readiness(&discover(&tree));
    let wrong: Vec<Check> =
        readiness.checks.iter().filter(|check| check.state != State::Ok).map(|check| check.check).collect();
    assert_eq!(wrong, [check]);
    let found = readiness.checks.into_iter().find(|found| found.check == check).unwrap();
    (found.state, found.reboot_required)
}

fn edit(tree: &mut Tree, path: &str, from: &str, to: &str) {
    let text = tree.text(path).unwrap();
    assert!(text.contains(from), "{path} has no {from}");
    let text = text.replace(from, to);
    tree.insert_file(path, text).unwrap();
}

fn without(path: &'static str) -> impl Fn(&mut Tree) {
    move |tree| assert_eq!(tree.remove(path), 1)
}

fn without_tool(tool: &'static str) -> impl Fn(&mut Tree) {
    let said = move |present: bool| format!("\"{tool}\",\n      \"present\": {present}");
    move |tree| edit(tree, "probe/tools.json", &said(true), &said(false))
}

const MISSING: (State, bool) = (State::Missing, false);
const MISSING_TILL_REBOOT: (State, bool) = (State::Missing, true);
const UNKNOWN: (State, bool) = (State::Unknown, false);

#[test]
fn each_missing_piece_of_the_machine_is_named_by_its_check() {
    let mig = |t: &mut Tree| edit(t, "probe/nvml.json", "\"mig_enabled\": false", "\"mig_enabled\": true");
    assert_eq!(spoiled(Check::Gpus, &mig), MISSING);
    assert_eq!(spoiled(Check::GpuDriver, &|t| assert!(drift::bind(t, at("0000:18:00.0"), None))), MISSING);
    let fabric = "probe/fabric_manager.json";
    assert_eq!(spoiled(Check::FabricManager, &|t| edit(t, fabric, "running", "stopped")), MISSING);
    assert_eq!(spoiled(Check::FabricManager, &|t| edit(t, fabric, "shared_nvswitch", "bare_metal")), MISSING);
    assert_eq!(spoiled(Check::FabricManager, &without(fabric)), UNKNOWN);
    assert_eq!(spoiled(Check::Vfio, &without("sys/bus/pci/drivers/vfio-pci/new_id")), MISSING);
    assert_eq!(spoiled(Check::DiskState, &without("proc/swaps")), UNKNOWN);
    let pages = "sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages";
    assert_eq!(spoiled(Check::Hugepages, &|t| edit(t, pages, "896", "0")), MISSING_TILL_REBOOT);
    let pending = |t: &mut Tree| t.insert_file("run/reboot-required", "").unwrap();
    assert_eq!(spoiled(Check::PendingReboot, &pending), MISSING_TILL_REBOOT);
    let secure_boot = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    assert_eq!(spoiled(Check::SecureBoot, &without(secure_boot)), UNKNOWN);
    let ungrouped = |tree: &mut Tree| {
        let groups: Vec<String> =
            tree.entries().keys().filter(|path| path.ends_with("/iommu_group")).cloned().collect();
        groups.iter().for_each(|path| assert_eq!(tree.remove(path), 1));
    };
    assert_eq!(spoiled(Check::Iommu, &ungrouped), MISSING_TILL_REBOOT);
    let no_vfs = |tree: &mut Tree| {
        for card in ["19", "2b", "3b", "5e", "9b", "ac", "bb", "dc"] {
            (1..=4).for_each(|vf| assert!(drift::remove_vf(tree, at(&format!("0000:{card}:00.{vf}")))));
        }
    };
    assert_eq!(spoiled(Check::Sriov, &no_vfs), MISSING);
    let barred = |tree: &mut Tree| {
        no_vfs(tree);
        rewrite(tree, "sys/bus/pci/devices/0000:19:00.0/sriov_totalvfs", "0\n");
    };
    assert_eq!(spoiled(Check::Sriov, &barred), MISSING_TILL_REBOOT);
}

#[test]
fn each_missing_program_is_named_by_its_check() {
    for tool in ["qemu-system-x86_64", "qemu-img", "libvirt-socket"] {
        assert_eq!(spoiled(Check::Libvirt, &without_tool(tool)), MISSING, "{tool}");
    }
    assert_eq!(spoiled(Check::UefiFirmware, &without_tool("uefi-firmware")), MISSING);
    assert_eq!(spoiled(Check::Ovs, &without_tool("ovsdb-socket")), MISSING);
    assert_eq!(spoiled(Check::Ovs, &without_tool("ovs-vsctl")), MISSING);
    assert_eq!(spoiled(Check::RdmaTools, &without_tool("rdma")), MISSING);
    assert_eq!(spoiled(Check::ImageCache, &without("probe/image_cache.json")), UNKNOWN);
    assert_eq!(spoiled(Check::ImageCache, &|t| edit(t, "probe/image_cache.json", "858993459200", "1")), MISSING);
    let neither = |tree: &mut Tree| {
        without_tool("genisoimage")(tree);
        without_tool("cloud-localds")(tree);
    };
    assert_eq!(spoiled(Check::CloudInitTools, &neither), MISSING);
    let mut tree = h200();
    without_tool("genisoimage")(&mut tree);
    assert!(readiness(&discover(&tree)).ready(), "one of the two is enough");
    tree.remove("probe/tools.json");
    let unseen = readiness(&discover(&tree));
    let unknown: Vec<Check> = unseen.blocking().filter(|c| c.state == State::Unknown).map(|c| c.check).collect();
    assert_eq!(unknown, [Check::Libvirt, Check::UefiFirmware, Check::Ovs, Check::CloudInitTools, Check::RdmaTools]);
}

#[test]
fn each_gpu_gets_what_hangs_off_its_own_switch() {
    let all = proposed(&h200());
    assert_eq!(all.len(), 8);
    for candidate in &all {
        assert_eq!((candidate.missing.as_slice(), candidate.notes.len()), ([].as_slice(), 0));
        let bus = |text: &Option<String>| u8::from_str_radix(&text.as_ref().unwrap()[5..7], 16).unwrap();
        let gpu = bus(&candidate.devices.gpu_pci_address);
        assert_eq!(bus(&candidate.devices.fabric_vf_pci_address), gpu + 1);
        assert_eq!(candidate.nvme_pci_address.unwrap().to_string(), format!("0000:{:02x}:00.0", gpu + 2));
        assert_eq!(
            u32::from(candidate.suggestion.as_ref().unwrap().slot_number),
            candidate.devices.gpu_module_id.unwrap().0
        );
    }
    let cards: Vec<_> =
        proposed(&trees::a100(&spec(2, 8))).iter().map(|c| c.fabric_parent_pci_address.unwrap()).collect();
    let mut distinct = cards.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 8, "two GPUs under one switch use two cards: {cards:?}");
}

#[test]
fn names_stay_when_another_gpu_disappears() {
    let mut tree = h200();
    let before = proposed(&tree);
    assert!(drift::remove_gpu(&mut tree, at("0000:18:00.0")));
    let after = proposed(&tree);
    assert_eq!(after.len(), 7);
    let same = |a: &Candidate, b: &Candidate| a.suggestion == b.suggestion && a.devices == b.devices;
    assert!(before[1..].iter().zip(&after).all(|(before, after)| same(before, after)));

    assert!(drift::bind(&mut tree, at("0000:2a:00.0"), Some("vfio-pci")));
    let held = proposed(&tree);
    assert_eq!(held[0].suggestion, None, "no number is made up for a GPU that cannot be asked");
    assert!(same(&held[1], &after[1]));
    tree.remove("probe/nvml.json");
    let numbers: Vec<u8> = proposed(&tree).iter().map(|c| c.suggestion.as_ref().unwrap().slot_number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6], "without any module id they are counted along the bus");
}

#[test]
fn a_disk_in_use_is_not_proposed_and_the_reason_is_given() {
    let mut tree = h200();
    for at in 2..10 {
        assert!(drift::mount_disk(&mut tree, &trees::wwid(&spec(1, 8), at), &format!("/data/{at}")));
    }
    for candidate in proposed(&tree) {
        assert_eq!(candidate.devices.nvme_identity, None);
        assert_eq!(candidate.missing, [topology::DeviceField::NvmeIdentity]);
        assert!(candidate.notes.iter().any(|note| note.contains("is mounted at /data/")), "{:?}", candidate.notes);
    }
    let mut tree = h200();
    tree.remove("proc/1/mountinfo");
    assert!(proposed(&tree).iter().all(|candidate| candidate.devices.nvme_identity.is_none()));
    let mut tree = h200();
    assert!(drift::bind(&mut tree, at("0000:1a:00.0"), Some("vfio-pci")));
    let first = proposed(&tree).swap_remove(0);
    let reason = "The disk at 0000:1a:00.0 was not proposed: its identity cannot be read while vfio-pci holds it.";
    assert!(first.notes.iter().any(|note| note == reason), "{:?}", first.notes);
}

#[test]
fn identities_are_built_when_the_kernel_gives_none() {
    let identity = |files: &[(&str, &str)]| {
        let mut tree = h200();
        let place = tree.resolve("sys/block/nvme2n1").unwrap();
        tree.remove(&format!("{place}/wwid"));
        for (name, text) in files {
            tree.insert_file(&format!("{place}/{name}"), *text).unwrap();
        }
        discover(&tree).nvme_at(at("0000:1a:00.0")).unwrap().identity.clone().unwrap()
    };
    assert_eq!(identity(&[("uuid", "0B1C-11\n")]), "uuid.0b1c-11");
    assert_eq!(
        identity(&[("nguid", "36434630-5730-0182-0025-384100000001\n")]),
        "eui.36434630573001820025384100000001"
    );
    assert_eq!(identity(&[("eui", "00 25 38 41 00 00 00 01\n"), ("nguid", "0000-00\n")]), "eui.0025384100000001");
    assert!(identity(&[]).starts_with("nvme.144d-53494d4441"), "{}", identity(&[]));
}

#[test]
fn disks_with_several_paths_are_found_through_their_subsystem() {
    let mut tree = h200();
    let place = tree.resolve("sys/block/nvme2n1").unwrap();
    let files: Vec<(String, Entry)> = tree
        .entries()
        .iter()
        .filter(|(path, _)| path.starts_with(&place))
        .map(|(p, e)| (p.clone(), e.clone()))
        .collect();
    tree.remove(&place);
    let new = "sys/devices/virtual/nvme-subsystem/nvme-subsys2/nvme2n1";
    for (path, entry) in files {
        if let Entry::File(text) = entry {
            tree.insert_file(&path.replace(&place, new), text).unwrap();
        }
    }
    let controller = tree.resolve("sys/class/nvme/nvme2").unwrap();
    tree.insert_link("sys/block/nvme2n1", format!("/{new}")).unwrap();
    tree.insert_link("sys/class/nvme-subsystem/nvme-subsys2", "/sys/devices/virtual/nvme-subsystem/nvme-subsys2")
        .unwrap();
    tree.insert_link("sys/devices/virtual/nvme-subsystem/nvme-subsys2/nvme2", format!("/{controller}")).unwrap();
    let found = discover(&tree);
    let disk = found.nvme_at(at("0000:1a:00.0")).unwrap();
    assert_eq!(disk.identity.as_deref(), Some("eui.0025380000000102"));
    assert_eq!(disk.model.as_deref(), Some("SAMSUNG MZWLO3T8HCLS-00A07"));
}

#[test]
fn amd_gpus_tell_in_files_what_nvidias_driver_is_asked_for() {
    let mut tree = h200();
    let gpu = "sys/bus/pci/devices/0000:18:00.0";
    let files = [
        ("vendor", "0x1002\n"),
        ("device", "0x74a1\n"),
        ("class", "0x120000\n"),
        ("unique_id", "c0ffee00c0ffee00\n"),
        ("xgmi_physical_id", "3\n"),
        ("mem_info_vram_total", "206141652992\n"),
    ];
    files.iter().for_each(|(name, text)| rewrite(&mut tree, &format!("{gpu}/{name}"), text));
    let found = discover(&tree).gpus.swap_remove(0);
    assert_eq!((found.vendor, found.module_id), (GpuVendor::Amd, Some(ModuleId(3))));
    assert_eq!((found.serial.as_deref(), found.memory_mib), (Some("c0ffee00c0ffee00"), Some(196_592)));
    assert_eq!(found.pci.name.as_deref(), Some("AMD Instinct MI300X"));
}

#[test]
fn hardware_that_nobody_knows_is_listed_and_nonsense_is_noted() {
    let mut tree = h200();
    let gpu = "sys/bus/pci/devices/0000:18:00.0";
    rewrite(&mut tree, &format!("{gpu}/device"), "0xfffe\n");
    rewrite(&mut tree, &format!("{gpu}/resource"), "not a window\n");
    rewrite(&mut tree, &format!("{gpu}/max_link_speed"), "quick\n");
    rewrite(&mut tree, "sys/bus/pci/devices/0000:2a:00.0/class", "0xff0000\n");
    rewrite(&mut tree, "sys/bus/pci/devices/0000:3a:00.0/vendor", "\u{1b}[31m\n");
    tree.insert_link("sys/bus/pci/devices/somewhere", "nowhere").unwrap();
    tree.insert_file("probe/tools.json", "{").unwrap();
    tree.insert_file("probe/capture.json", r#"{"skipped":[{"path":"proc/x","reason":"permission denied"}]}"#).unwrap();
    let found = discover(&tree);
    let first = &found.gpus[0];
    assert_eq!((first.model, first.pci.device_id.as_deref()), (None, Some("fffe")), "unknown GPUs keep their raw ids");
    let others: Vec<String> = found.other.iter().map(|function| function.address.to_string()).collect();
    assert_eq!(others, ["0000:03:00.0", "0000:2a:00.0", "0000:3a:00.0"]);
    let noted: Vec<&str> = found.notes.iter().map(|note| note.path.as_str()).collect();
    for path in ["probe/nvml.json", "probe/tools.json", "proc/x", "sys/bus/pci/devices/somewhere"] {
        assert!(noted.contains(&path), "{path} is not in {noted:?}");
    }
    for name in ["resource", "max_link_speed"] {
        assert!(noted.iter().any(|path| path.ends_with(name)), "{name} is not in {noted:?}");
    }
    assert!(!serde_json::to_string(&found).unwrap().contains("u001b"));
}

#[test]
fn partitions_that_make_no_sense_are_not_used() {
    for (from, to) in [("\"id\": 14", "\"id\": 15"), ("\"id\": 14", "\"id\": 13"), ("        8\n", "        7\n")] {
        let mut tree = h200();
        let text = tree.text("probe/fabric_manager.json").unwrap().replace(from, to);
        tree.insert_file("probe/fabric_manager.json", text).unwrap();
        let found = discover(&tree);
        assert_eq!(found.partitions, None, "{from}");
        assert!(found.notes.iter().any(|note| note.path == "probe/fabric_manager.json"), "{:?}", found.notes);
    }
}

/// Puts nonsense into some places of a healthy host.
fn damaged(damage: &[(prop::sample::Index, String)]) -> Tree {
    let mut tree = h200();
    for (at, text) in damage {
        let paths: Vec<String> = tree.entries().keys().cloned().collect();
        let Some(path) = paths.get(at.index(paths.len())) else { continue };
        match &tree.entries()[path] {
            Entry::File(_) => tree.insert_file(path, text.clone()).unwrap(),
            // An empty target is refused by the tree itself.
            Entry::Link(_) => drop(tree.insert_link(path, text.clone())),
        }
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_a_host_shows_there_is_an_answer_and_always_the_same(
        damage in prop::collection::vec((any::<prop::sample::Index>(), "[ -~\\n\\u{0}\\u{e9}]{0,40}|0x[0-9a-f]{1,20}|-?[0-9]{1,25}"), 1..60)
    ) {
        let tree = damaged(&damage);
        let found = discover(&tree);
        let text = serde_json::to_string(&found).unwrap();
        prop_assert_eq!(serde_json::to_string(&discover(&tree)).unwrap(), text.clone());
        prop_assert_eq!(&serde_json::from_str::<Discovery>(&text).unwrap(), &found);
        prop_assert!(text.len() < 256 * 1024);
        let readiness = readiness(&found);
        let all = proposed(&tree);
        let mut disks: Vec<_> = all.iter().filter_map(|candidate| candidate.devices.nvme_identity.clone()).collect();
        disks.sort();
        let count = disks.len();
        disks.dedup();
        prop_assert_eq!(disks.len(), count, "no disk is proposed twice");
        for candidate in all {
            let request = topology::SlotRequest {
                devices: candidate.devices,
                gpu_uuid: candidate.gpu_uuid,
                pool_range: None,
                min_disk_bytes: 0, is_lab: false,
            };
            let _ = topology::validate(&request, Some(&found), Some(&readiness), &[], &[]);
        }
    }
}
