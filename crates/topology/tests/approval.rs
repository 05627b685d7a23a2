//! Every rule of the validator: a slot that passes, and for each rule one change that breaks it and nothing else.
#![allow(clippy::unwrap_used)]

use model::supply::FabricClaimMode;
use topology::{
    ApprovalRule as Rule, Discovery, DiskGrant, DiskGrantKind, ModuleId, Naming, PciAddress, Readiness, Refusal,
    SlotField as Field, SlotRequest, TakenSlot, candidates, discover,
    readiness::readiness,
    simulated::{HostSpec, drift, trees},
    validate,
};

/// Everything the validator is given, and all of it fine.
#[derive(Clone)]
struct Case {
    request: SlotRequest,
    discovery: Option<Discovery>,
    readiness: Option<Readiness>,
    others: Vec<TakenSlot>,
    grants: Vec<DiskGrant>,
}

fn spec() -> HostSpec {
    HostSpec { number: 1, name: "h200-01".into(), gpus: 8 }
}

fn request(discovery: &Discovery, at: usize) -> SlotRequest {
    let range = "10.64.0.0/12".parse().unwrap();
    let naming = Naming { node_number: 1, pool_number: 0, pool_range: Some(range) };
    let candidate = candidates(discovery, &naming).swap_remove(at);
    SlotRequest {
        devices: candidate.devices,
        gpu_uuid: candidate.gpu_uuid,
        pool_range: Some(range),
        min_disk_bytes: 0,
        is_lab: false,
    }
}

fn taken(request: &SlotRequest, same_node: bool) -> TakenSlot {
    let (devices, gpu_uuid) = (request.devices.clone(), request.gpu_uuid.clone());
    TakenSlot { slot: "slot_other".into(), same_node, devices, gpu_uuid }
}

impl Case {
    fn good() -> Self {
        let discovery = discover(&trees::hgx_h200(&spec()));
        Self {
            request: request(&discovery, 0),
            readiness: Some(readiness(&discovery)),
            others: vec![taken(&request(&discovery, 1), true)],
            discovery: Some(discovery),
            grants: Vec::new(),
        }
    }

    /// The same slot on a host to which something happened.
    fn after(change: impl FnOnce(&mut topology::Tree)) -> Self {
        let mut tree = trees::hgx_h200(&spec());
        change(&mut tree);
        Self { discovery: Some(discover(&tree)), ..Self::good() }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn validate(&self) -> Vec<Refusal> {
        validate(&self.request, self.discovery.as_ref(), self.readiness.as_ref(), &self.others, &self.grants)
    }

    #[track_caller]
    fn refuses(self, field: Field, rule: Rule) {
        let refusals = self.validate();
        let seen: Vec<(Field, Rule)> = refusals.iter().map(|refusal| (refusal.field, refusal.rule)).collect();
        assert_eq!(seen, [(field, rule)], "{refusals:#?}");
        assert!(refusals.iter().all(|refusal| refusal.detail.ends_with('.') && !refusal.accepted.is_empty()));
    }

    fn disk(&self) -> String {
        self.request.devices.nvme_identity.clone().unwrap()
    }
}

fn at(text: &str) -> PciAddress {
    text.parse().unwrap()
}

#[test]
fn a_complete_slot_on_a_ready_node_passes() {
    assert_eq!(Case::good().validate(), []);
    for slot in 0..8 {
        let case = Case::good().with(|case| {
            case.request = request(case.discovery.as_ref().unwrap(), slot);
            case.others.clear();
        });
        assert_eq!(case.validate(), [], "slot {slot}");
    }
}

#[test]
fn a_node_that_nobody_looked_at_or_that_is_not_ready_is_refused() {
    Case::good().with(|case| case.discovery = None).refuses(Field::Node, Rule::NoDiscovery);
    Case::good()
        .with(|case| {
            case.discovery = None;
            case.readiness = None;
        })
        .refuses(Field::Node, Rule::NoDiscovery);
    Case::good().with(|case| case.readiness = None).refuses(Field::Node, Rule::NodeNotReady);
    let unready = readiness(&discover(&trees::half_broken(&spec())));
    let case = Case::good().with(|case| case.readiness = Some(unready));
    assert_eq!(case.validate()[0].detail, "The node is not ready: iommu, ovs.");
    case.refuses(Field::Node, Rule::NodeNotReady);
}

#[test]
fn every_field_has_to_be_there() {
    let without = |change: fn(&mut topology::SlotDevices)| Case::good().with(|case| change(&mut case.request.devices));
    without(|d| d.gpu_pci_address = None).refuses(Field::GpuPciAddress, Rule::Missing);
    without(|d| d.gpu_module_id = None).refuses(Field::GpuModuleId, Rule::Missing);
    without(|d| d.nvme_identity = Some(" ".into())).refuses(Field::NvmeIdentity, Rule::Missing);
    without(|d| d.mgmt_mac = None).refuses(Field::MgmtMac, Rule::Missing);
    without(|d| d.private_ip = Some(String::new())).refuses(Field::PrivateIp, Rule::Missing);
    without(|d| d.fabric_vf_pci_address = None).refuses(Field::FabricVfPciAddress, Rule::Missing);
    without(|d| d.numa_node = None).refuses(Field::NumaNode, Rule::Missing);
    without(|d| d.fabric_claim_mode = FabricClaimMode::None).refuses(Field::FabricClaimMode, Rule::FabricMode);
}

#[test]
fn every_field_has_one_spelling() {
    let with = |change: fn(&mut topology::SlotDevices)| Case::good().with(|case| change(&mut case.request.devices));
    with(|d| d.gpu_pci_address = Some("0000:18:00".into())).refuses(Field::GpuPciAddress, Rule::Malformed);
    with(|d| d.gpu_pci_address = Some("00000000:18:00.0".into())).refuses(Field::GpuPciAddress, Rule::Malformed);
    with(|d| d.fabric_vf_pci_address = Some("19:00.1".into())).refuses(Field::FabricVfPciAddress, Rule::Malformed);
    with(|d| d.nvme_identity = Some("eui.00 25".into())).refuses(Field::NvmeIdentity, Rule::Malformed);
    with(|d| d.mgmt_mac = Some("02:00:00:00:01:AA".into())).refuses(Field::MgmtMac, Rule::Malformed);
    with(|d| d.mgmt_mac = Some("02:00:00:00:01".into())).refuses(Field::MgmtMac, Rule::Malformed);
    with(|d| d.private_ip = Some("10.64.0.256".into())).refuses(Field::PrivateIp, Rule::Malformed);
    with(|d| d.private_ip = Some("10.64.0.06".into())).refuses(Field::PrivateIp, Rule::Malformed);
}

#[test]
fn addresses_have_to_be_of_the_right_kind() {
    let with = |change: fn(&mut topology::SlotDevices)| Case::good().with(|case| change(&mut case.request.devices));
    with(|d| d.mgmt_mac = Some("00:25:38:00:01:05".into())).refuses(Field::MgmtMac, Rule::NotLocalUnicast);
    with(|d| d.mgmt_mac = Some("03:00:00:00:01:05".into())).refuses(Field::MgmtMac, Rule::NotLocalUnicast);
    with(|d| d.private_ip = Some("192.168.0.1".into())).refuses(Field::PrivateIp, Rule::OutsidePoolRange);
    with(|d| d.private_ip = Some("10.64.0.0".into())).refuses(Field::PrivateIp, Rule::OutsidePoolRange);
    with(|d| d.private_ip = Some("10.79.255.255".into())).refuses(Field::PrivateIp, Rule::OutsidePoolRange);
    let free = with(|d| d.private_ip = Some("192.168.0.1".into())).with(|case| case.request.pool_range = None);
    assert_eq!(free.validate(), [], "a pool without a range takes any address");
}

#[test]
fn a_device_that_the_node_does_not_have_is_refused() {
    let with = |change: fn(&mut topology::SlotDevices)| Case::good().with(|case| change(&mut case.request.devices));
    with(|d| d.gpu_pci_address = Some("0000:77:00.0".into())).refuses(Field::GpuPciAddress, Rule::NotOnNode);
    with(|d| d.gpu_pci_address = Some("0000:19:00.0".into())).refuses(Field::GpuPciAddress, Rule::NotOnNode);
    with(|d| d.nvme_identity = Some("eui.77".into())).refuses(Field::NvmeIdentity, Rule::NotOnNode);
    with(|d| d.fabric_vf_pci_address = Some("0000:77:00.1".into())).refuses(Field::FabricVfPciAddress, Rule::NotOnNode);
    let gone = Case::after(|tree| assert!(drift::remove_gpu(tree, at("0000:18:00.0"))));
    assert!(gone.validate()[0].accepted.starts_with("0000:2a:00.0, "), "{:?}", gone.validate());
    gone.refuses(Field::GpuPciAddress, Rule::NotOnNode);
}

#[test]
fn what_the_host_shows_otherwise_is_refused() {
    Case::good()
        .with(|case| case.request.devices.gpu_module_id = Some(ModuleId(1)))
        .refuses(Field::GpuModuleId, Rule::DiffersFromHost);
    Case::good().with(|case| case.request.devices.numa_node = Some(1)).refuses(Field::NumaNode, Rule::DiffersFromHost);
    Case::good()
        .with(|case| case.request.gpu_uuid = Some("GPU-of-another-host".into()))
        .refuses(Field::GpuUuid, Rule::DiffersFromHost);
    let held = Case::after(|tree| assert!(drift::bind(tree, at("0000:18:00.0"), Some("vfio-pci"))));
    assert_eq!(held.validate(), [], "what cannot be seen is not held against the slot");
}

#[test]
fn two_slots_never_share_anything() {
    let other = |same_node: bool, change: fn(&SlotRequest, &mut TakenSlot)| {
        Case::good().with(|case| {
            case.others[0].same_node = same_node;
            change(&case.request, &mut case.others[0]);
        })
    };
    for same_node in [true, false] {
        let used = Rule::UsedByOtherSlot;
        other(same_node, |r, o| o.gpu_uuid = r.gpu_uuid.clone()).refuses(Field::GpuUuid, used);
        other(same_node, |r, o| o.devices.nvme_identity = r.devices.nvme_identity.clone())
            .refuses(Field::NvmeIdentity, used);
        other(same_node, |r, o| o.devices.mgmt_mac = r.devices.mgmt_mac.clone()).refuses(Field::MgmtMac, used);
        other(same_node, |r, o| o.devices.private_ip = r.devices.private_ip.clone()).refuses(Field::PrivateIp, used);
    }
    let gpu: fn(&SlotRequest, &mut TakenSlot) = |r, o| o.devices.gpu_pci_address = r.devices.gpu_pci_address.clone();
    let function: fn(&SlotRequest, &mut TakenSlot) =
        |r, o| o.devices.fabric_vf_pci_address = r.devices.fabric_vf_pci_address.clone();
    other(true, gpu).refuses(Field::GpuPciAddress, Rule::UsedByOtherSlot);
    other(true, function).refuses(Field::FabricVfPciAddress, Rule::UsedByOtherSlot);
    for on_another_node in [gpu, function] {
        assert_eq!(other(false, on_another_node).validate(), [], "every node has the same places");
    }
}

#[test]
fn a_gpu_that_another_node_claims_is_refused_even_when_the_request_does_not_name_it() {
    Case::good()
        .with(|case| {
            case.others[0].gpu_uuid = case.request.gpu_uuid.take();
            case.others[0].same_node = false;
        })
        .refuses(Field::GpuUuid, Rule::UsedByOtherSlot);
}

#[test]
fn a_disk_in_use_is_refused_until_it_is_remapped() {
    let disk = Case::good().disk();
    let grant = |kind| vec![DiskGrant { nvme_identity: disk.clone(), kind }];
    let mounted = || Case::after(|tree| assert!(drift::mount_disk(tree, &disk, "/data")));
    let swap = || {
        Case::after(|tree| {
            tree.insert_file("proc/swaps", "Filename Type Size Used Priority\n/dev/nvme2n1 partition 9 0 -2\n")
                .unwrap();
        })
        // A disk that is swapped to carries the host; take that away to see the rule behind it.
        .with(|case| case.discovery.as_mut().unwrap().nvme_disks.iter_mut().for_each(|disk| disk.system_disk = false))
    };
    let held = || {
        Case::after(|tree| {
            let place = tree.resolve("sys/block/nvme2n1").unwrap();
            tree.insert_link(&format!("{place}/holders/dm-0"), "nowhere").unwrap();
        })
    };
    let cases: [(Rule, &dyn Fn() -> Case); 3] =
        [(Rule::DiskMounted, &mounted), (Rule::DiskSwap, &swap), (Rule::DiskHeld, &held)];
    for (rule, case) in cases {
        case().refuses(Field::NvmeIdentity, rule);
        case().with(|case| case.grants = grant(DiskGrantKind::WipeProof)).refuses(Field::NvmeIdentity, rule);
        assert_eq!(case().with(|case| case.grants = grant(DiskGrantKind::Remap)).validate(), [], "{rule}");
        let of_another = vec![DiskGrant { nvme_identity: "eui.77".into(), kind: DiskGrantKind::Remap }];
        case().with(|case| case.grants = of_another).refuses(Field::NvmeIdentity, rule);
    }
}

#[test]
fn a_disk_with_something_on_it_is_refused_until_it_is_wiped_or_remapped() {
    let disk = Case::good().disk();
    let formatted = || Case::after(|tree| assert!(drift::format_disk(tree, &disk, "xfs")));
    formatted().refuses(Field::NvmeIdentity, Rule::DiskNotBlank);
    for kind in [DiskGrantKind::WipeProof, DiskGrantKind::Remap] {
        let grants = vec![DiskGrant { nvme_identity: disk.clone(), kind }];
        assert_eq!(formatted().with(|case| case.grants = grants).validate(), [], "{kind}");
    }
    let of_another = vec![DiskGrant { nvme_identity: "eui.77".into(), kind: DiskGrantKind::WipeProof }];
    formatted().with(|case| case.grants = of_another).refuses(Field::NvmeIdentity, Rule::DiskNotBlank);
    let parted = Case::after(|tree| {
        let record = format!("run/udev/data/b{}", tree.text("sys/block/nvme2n1/dev").unwrap());
        tree.insert_file(&record, "E:ID_PART_TABLE_TYPE=gpt\n").unwrap();
    });
    parted.refuses(Field::NvmeIdentity, Rule::DiskNotBlank);
}

#[test]
fn a_disk_that_is_smaller_than_its_profile_asks_for_is_refused() {
    let case = Case::good();
    let disk = case.disk();
    let size = case.discovery.as_ref().unwrap().nvme_with(&disk).unwrap().size_bytes.unwrap();
    let least = |bytes: u64| Case::good().with(|case| case.request.min_disk_bytes = bytes);
    assert_eq!(least(size).validate(), []);
    least(size + 1).refuses(Field::NvmeIdentity, Rule::DiskTooSmall);
}

#[test]
fn a_disk_whose_state_is_not_known_is_refused() {
    let unseen = Case::after(|tree| {
        let record = format!("run/udev/data/b{}", tree.text("sys/block/nvme2n1/dev").unwrap());
        assert_eq!(tree.remove(&record), 1);
    });
    unseen.refuses(Field::NvmeIdentity, Rule::DiskStateUnknown);
    for path in ["proc/1/mountinfo", "proc/swaps"] {
        let blind = Case::after(|tree| assert_eq!(tree.remove(path), 1));
        blind.refuses(Field::NvmeIdentity, Rule::DiskStateUnknown);
    }
    let twice =
        Case::after(|tree| assert!(drift::replace_disk(tree, &trees::wwid(&spec(), 3), &trees::wwid(&spec(), 2))));
    twice.refuses(Field::NvmeIdentity, Rule::IdentityShared);
}

#[test]
fn no_grant_gives_away_the_disk_that_the_host_lives_on() {
    for at in [0, 1] {
        let own = trees::wwid(&spec(), at);
        let grants = [DiskGrantKind::Remap, DiskGrantKind::WipeProof]
            .map(|kind| DiskGrant { nvme_identity: own.clone(), kind })
            .to_vec();
        let case = Case::good().with(|case| {
            case.request.devices.nvme_identity = Some(own.clone());
            case.grants = grants;
        });
        case.refuses(Field::NvmeIdentity, Rule::SystemDisk);
    }
}

#[test]
fn only_a_virtual_function_of_a_fabric_card_will_do() {
    let with =
        |address: &str| Case::good().with(|case| case.request.devices.fabric_vf_pci_address = Some(address.to_owned()));
    with("0000:19:00.0").refuses(Field::FabricVfPciAddress, Rule::NotAVirtualFunction);
    with("0000:c9:00.0").refuses(Field::FabricVfPciAddress, Rule::BlueFieldFunction);
    with("0000:04:00.0").refuses(Field::FabricVfPciAddress, Rule::NotOnNode);
}

#[test]
fn what_is_handed_over_may_not_drag_a_stranger_along() {
    let (gpu, function, stranger) = (at("0000:18:00.0"), at("0000:19:00.1"), at("0000:2b:00.0"));
    let shared = |with: PciAddress| Case::after(move |tree| assert!(drift::share_iommu_group(tree, stranger, with)));
    shared(gpu).refuses(Field::GpuPciAddress, Rule::IommuShared);
    shared(function).refuses(Field::FabricVfPciAddress, Rule::IommuShared);
    let inside = |member: PciAddress| Case::after(move |tree| assert!(drift::share_iommu_group(tree, member, gpu)));
    for member in ["0000:19:00.1", "0000:1a:00.0"] {
        assert_eq!(inside(at(member)).validate(), [], "{member} is in the slot");
    }
    let bridge = Case::after(|tree| {
        let group = tree.link("sys/bus/pci/devices/0000:18:00.0/iommu_group").unwrap().to_owned();
        let port = tree.resolve("sys/bus/pci/devices/0000:17:00.0").unwrap();
        tree.insert_link(&format!("{port}/iommu_group"), group).unwrap();
    });
    assert_eq!(bridge.validate(), [], "bridges stay with the host");
    let ungrouped = |address: &'static str| {
        Case::after(move |tree| {
            let place = tree.resolve(&format!("sys/bus/pci/devices/{address}")).unwrap();
            assert_eq!(tree.remove(&format!("{place}/iommu_group")), 1);
        })
    };
    ungrouped("0000:18:00.0").refuses(Field::GpuPciAddress, Rule::IommuUnknown);
    ungrouped("0000:19:00.1").refuses(Field::FabricVfPciAddress, Rule::IommuUnknown);
}

/// A laboratory's slot on the same host, of which an agent told the loop devices.
fn lab() -> Case {
    let tell = |tree: &mut topology::Tree| {
        let told = r#"{"loop_devices":[{"name":"loop3","backing_file":"/lab/a.img","size_bytes":1073741824},
            {"name":"loop4","backing_file":"/lab/b.img","size_bytes":1073741824},
            {"name":"loop5","backing_file":"/lab/b.img","size_bytes":1073741824}]}"#;
        tree.insert_file(topology::probe::LAB, told).unwrap();
    };
    Case::after(tell).with(|case| {
        let naming = Naming { node_number: 1, pool_number: 0, pool_range: case.request.pool_range };
        let proposed = topology::lab_candidates(case.discovery.as_ref().unwrap(), &naming, &Default::default());
        assert_eq!(proposed.len(), 1, "a file behind two devices is nobody's disk");
        case.request.devices = proposed[0].devices.clone();
        (case.request.gpu_uuid, case.request.is_lab) = (None, true);
        case.others.clear();
    })
}

#[test]
fn a_laboratorys_slot_is_a_file_and_nothing_that_is_sold() {
    assert_eq!(lab().validate(), []);
    let changed = |change: fn(&mut topology::SlotDevices)| lab().with(|case| change(&mut case.request.devices));
    changed(|devices| devices.gpu_pci_address = Some("0000:18:00.0".into()))
        .refuses(Field::GpuPciAddress, Rule::NotInLab);
    changed(|devices| devices.fabric_vf_pci_address = Some("0000:19:00.1".into()))
        .refuses(Field::FabricVfPciAddress, Rule::NotInLab);
    changed(|devices| devices.fabric_claim_mode = FabricClaimMode::PerSlotVf)
        .refuses(Field::FabricClaimMode, Rule::NotInLab);
    changed(|devices| devices.nvme_identity = None).refuses(Field::NvmeIdentity, Rule::Missing);
    changed(|devices| devices.nvme_identity = Some("loop:/lab/c.img".into()))
        .refuses(Field::NvmeIdentity, Rule::NotOnNode);
    lab().with(|case| case.request.min_disk_bytes = 1 << 31).refuses(Field::NvmeIdentity, Rule::DiskTooSmall);
    // A real disk is no laboratory's, and a file is nobody else's.
    let real = Case::good().disk();
    let wanted = lab().with(|case| case.request.devices.nvme_identity = Some(real.clone()));
    wanted.refuses(Field::NvmeIdentity, Rule::NotOnNode);
    Case::good()
        .with(|case| {
            case.discovery = lab().discovery;
            case.request.devices.nvme_identity = Some("loop:/lab/a.img".into());
        })
        .refuses(Field::NvmeIdentity, Rule::NotOnNode);
}

#[test]
fn a_loop_device_that_is_gone_or_mounted_is_a_drift() {
    let case = lab();
    let mut discovery = case.discovery.clone().unwrap();
    let approved = topology::ApprovedSlot::at_approval(case.request.devices.clone(), None, &discovery);
    assert_eq!(topology::drift(&approved, &discovery), []);
    discovery.lab_disks[0].used_for.push("mounted at /mnt".into());
    assert_eq!(topology::drift(&approved, &discovery)[0].kind, topology::DriftKind::DiskMounted);
    lab().with(|case| case.discovery = Some(discovery.clone())).refuses(Field::NvmeIdentity, Rule::DiskMounted);
    discovery.lab_disks.clear();
    assert_eq!(topology::drift(&approved, &discovery)[0].kind, topology::DriftKind::Gone);
}

#[test]
fn all_reasons_come_at_once_and_in_one_order() {
    let case = Case::good().with(|case| {
        case.request.devices.mgmt_mac = None;
        case.request.devices.gpu_pci_address = Some("nonsense\u{1b}".into());
        case.request.devices.private_ip = Some("10.64.0.0".into());
        case.readiness = None;
    });
    let refusals = case.validate();
    let seen: Vec<(Field, Rule)> = refusals.iter().map(|refusal| (refusal.field, refusal.rule)).collect();
    let expected = [
        (Field::Node, Rule::NodeNotReady),
        (Field::GpuPciAddress, Rule::Malformed),
        (Field::MgmtMac, Rule::Missing),
        (Field::PrivateIp, Rule::OutsidePoolRange),
    ];
    assert_eq!(seen, expected);
    assert!(!refusals[1].detail.contains('\u{1b}'), "nothing that was sent can break a terminal");
    let backwards = case.clone().with(|case| case.others.reverse());
    assert_eq!(backwards.validate(), refusals);
}

#[test]
fn every_rule_is_tried_here() {
    let text = include_str!("approval.rs");
    for rule in Rule::ALL {
        let name = format!("Rule::{rule:?}");
        let tried = text.lines().filter(|line| line.contains(&name)).count();
        assert!(tried > 0, "{name} has no test");
    }
}
