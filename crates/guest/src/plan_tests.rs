//! Plans: what fits gets its CPUs, what does not is refused by the name of the check.

use super::*;
use crate::identity::tests::{guest, slot as slot_id};
use model::Timestamp;
use proptest::prelude::*;

fn address(bus: u8) -> PciAddress {
    PciAddress { domain: 0, bus, device: 0, function: 0 }
}

fn slot(number: u8, node: u32) -> ApprovedSlot {
    let device =
        |role, bus: u8| ApprovedDevice { role, address: address(bus), identity: format!("id{bus}"), numa_node: node };
    ApprovedSlot {
        slot_id: slot_id(number),
        numa_node: node,
        devices: vec![device(Role::Gpu, number * 2), device(Role::FabricVf, number * 2 + 1)],
        disk: ApprovedDisk {
            path: format!("/dev/nvme{number}n1").into(),
            identity: format!("eui.{number}"),
            size_bytes_min: 1000,
            guest_serial: format!("S{number}"),
        },
        mac: Mac([2, 0, 0, 0, 0, number]),
        ip: [10, 0, 0, number].into(),
        bridge: "br-gpu".into(),
        share: Share { vcpus: 4, memory_mib: 4096, hugepage_kib: Some(1024 * 1024) },
    }
}

// Two nodes of four cores with two threads each: node 0 has CPUs 0-3 and 8-11.
fn host(slots: &[ApprovedSlot]) -> HostNow {
    let devices = slots.iter().flat_map(|slot| &slot.devices);
    HostNow {
        pci: devices
            .map(|device| PciNow {
                address: device.address,
                identity: device.identity.clone(),
                driver: Some("vfio-pci".into()),
                iommu_group: Some(device.address.bus.into()),
                numa_node: Some(device.numa_node),
                is_bridge: false,
            })
            .collect(),
        disks: slots
            .iter()
            .map(|slot| DiskNow {
                path: slot.disk.path.clone(),
                identity: slot.disk.identity.clone(),
                is_block_device: true,
                size_bytes: 1000,
                used_by: vec![],
            })
            .collect(),
        hugepages: (0..2).map(|numa_node| HugepagesNow { numa_node, page_kib: 1024 * 1024, free: 8 }).collect(),
        memory_free_mib: BTreeMap::from([(0, 8192), (1, 8192)]),
        cpus: (0..16).map(|cpu| CpuNow { cpu, numa_node: cpu % 8 / 4, core: cpu % 8 }).collect(),
        bridges: BTreeSet::from(["br-gpu".to_owned()]),
        ..HostNow::default()
    }
}

fn lease(thing: Thing, holder: GuestUse) -> Lease {
    Lease { thing, holder, taken_at: Timestamp::from_micros(1) }
}

#[test]
fn a_guest_gets_whole_cores_memory_and_devices_of_its_nodes() {
    let slots = [slot(1, 0), slot(2, 1)];
    let plan = plan(&guest(1), &slots, &host(&slots)).unwrap();
    assert_eq!(
        plan.cells,
        [
            Cell { host_node: 0, cpus: vec![0, 8, 1, 9], memory_mib: 4096 },
            Cell { host_node: 1, cpus: vec![4, 12, 5, 13], memory_mib: 4096 },
        ]
    );
    assert_eq!(plan.devices.len(), 4);
    assert_eq!(plan.disks.iter().map(|disk| disk.identity.as_str()).collect::<Vec<_>>(), ["eui.1", "eui.2"]);
    assert_eq!(plan.leases.len(), 8 + 6 + 4);
    assert_eq!((plan.mac, plan.ip), (slots[0].mac, slots[0].ip));
}

#[test]
fn a_second_plan_of_the_same_guest_is_the_same() {
    let slots = [slot(1, 0)];
    let mut host = host(&slots);
    host.leases = vec![lease(Thing::Cpu(0), guest(9))];
    let first = plan(&guest(1), &slots, &host).unwrap();
    assert_eq!(first.cells[0].cpus, [1, 9, 2, 10]);
    host.leases.extend(first.leases.iter().map(|thing| lease(thing.clone(), guest(1))));
    host.leases.remove(0);
    host.macs.insert(slots[0].mac, Some(guest(1)));
    host.ips.insert(slots[0].ip, Some(guest(1)));
    assert_eq!(plan(&guest(1), &slots, &host), Ok(first));
}

#[test]
fn every_check_refuses_by_its_own_name() {
    type Change = fn(&mut HostNow);
    let changes: [(Check, Change); 19] = [
        (Check::SlotFree, |host| host.leases.push(lease(Thing::Slot(slot_id(1)), guest(9)))),
        (Check::DeviceFree, |host| host.leases.push(lease(Thing::Pci(address(2)), guest(9)))),
        (Check::DevicePresent, |host| drop(host.pci.remove(0))),
        (Check::DeviceIdentity, |host| host.pci[0].identity = "another".into()),
        (Check::DeviceDriver, |host| host.pci[0].driver = Some("nvidia".into())),
        (Check::DeviceDriver, |host| host.pci[0].driver = None),
        (Check::IommuGroup, |host| host.pci[0].iommu_group = None),
        (Check::IommuGroupAlone, |host| host.pci.push(PciNow { address: address(99), ..host.pci[0].clone() })),
        (Check::DeviceNumaNode, |host| host.pci[0].numa_node = Some(1)),
        (Check::DiskPresent, |host| host.disks.clear()),
        (Check::DiskIdentity, |host| host.disks[0].identity = "swapped".into()),
        (Check::DiskIsBlockDevice, |host| host.disks[0].is_block_device = false),
        (Check::DiskUnmounted, |host| host.disks[0].used_by.push("/mnt".into())),
        (Check::DiskSize, |host| host.disks[0].size_bytes = 999),
        (Check::MacUnused, |host| drop(host.macs.insert(Mac([2, 0, 0, 0, 0, 1]), None))),
        (Check::IpUnused, |host| drop(host.ips.insert([10, 0, 0, 1].into(), Some(guest(9))))),
        (Check::BridgePresent, |host| host.bridges.clear()),
        (Check::HugepagesFree, |host| host.hugepages[0].free = 3),
        (Check::CpusFree, |host| host.cpus.retain(|cpu| cpu.cpu < 3)),
    ];
    let slots = [slot(1, 0)];
    for (check, change) in changes {
        let mut host = host(&slots);
        change(&mut host);
        let refusals = plan(&guest(1), &slots, &host).unwrap_err();
        assert_eq!(refusals.iter().map(|refusal| refusal.check).collect::<Vec<_>>(), [check], "{refusals:?}");
        assert_eq!(refusals[0].slot_id, Some(slot_id(1)));
        assert!(!refusals[0].expected.is_empty() && !refusals[0].found.is_empty());
    }
    let mut plain = slot(1, 0);
    plain.share = Share { vcpus: 4, memory_mib: 9000, hugepage_kib: None };
    let refusals = plan(&guest(1), &[plain], &host(&slots)).unwrap_err();
    assert_eq!(refusals[0].check, Check::MemoryFree);
    for order in [vec![], vec![slot(1, 0), slot(1, 0)]] {
        assert_eq!(plan(&guest(1), &order, &host(&slots)).unwrap_err()[0].check, Check::SlotsNamedOnce);
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let slots = [slot(1, 0), slot(2, 1)];
    let found = plan(&guest(1), &slots, &HostNow::default()).unwrap_err();
    let checks: BTreeSet<Check> = found.iter().map(|refusal| refusal.check).collect();
    assert_eq!(
        checks,
        [Check::DevicePresent, Check::DiskPresent, Check::BridgePresent, Check::HugepagesFree, Check::CpusFree].into()
    );
}

#[test]
fn a_bridge_and_ones_own_devices_may_share_a_group() {
    let slots = [slot(1, 0)];
    let mut host = host(&slots);
    host.pci.push(PciNow { address: address(99), is_bridge: true, ..host.pci[0].clone() });
    assert!(plan(&guest(1), &slots, &host).is_ok());
}

proptest! {
    #[test]
    fn guests_never_share_what_is_theirs(shares in proptest::collection::vec((0u32..2, 1u32..6), 1..8)) {
        let slots: Vec<ApprovedSlot> = (1u8..).zip(&shares).map(|(number, (node, vcpus))| {
            let mut slot = slot(number, *node);
            slot.share = Share { vcpus: *vcpus, memory_mib: 1024, hugepage_kib: Some(1024 * 1024) };
            slot
        }).collect();
        let mut host = host(&slots);
        for (number, slot) in (1i64..).zip(&slots) {
            let free = host.cpus.iter().filter(|cpu| cpu.numa_node == slot.numa_node)
                .filter(|cpu| !host.leases.iter().any(|lease| lease.thing == Thing::Cpu(cpu.cpu))).count();
            let answer = plan(&guest(number), std::slice::from_ref(slot), &host);
            prop_assert_eq!(answer.is_ok(), free >= usize::try_from(slot.share.vcpus).unwrap());
            let Ok(bundle) = answer else { continue };
            for thing in &bundle.leases {
                prop_assert!(!host.leases.iter().any(|lease| lease.thing == *thing), "{} twice", thing);
            }
            for cpu in &bundle.cells[0].cpus {
                prop_assert!(host.cpus.iter().any(|now| now.cpu == *cpu && now.numa_node == slot.numa_node));
            }
            host.leases.extend(bundle.leases.iter().map(|thing| lease(thing.clone(), guest(number))));
        }
    }
}
