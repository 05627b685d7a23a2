//! The node's own plan, made before anything is created: approved slots on one side, the host as it is now on the other.
//! Every device is looked at again. Either all fits and the answer says which CPUs, which memory and which devices the
//! guest gets, or the answer is a list of everything that does not, each with the check, the slot, what was approved and
//! what is there. A refusal means that the slot has drifted from what was approved; it is nothing to try again.

use crate::{
    domain::{Cell, Passthrough, Role},
    identity::{GuestUse, Mac, PciAddress},
    leases::{Lease, Thing},
};
use model::{SlotId, text_enum};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    path::PathBuf,
};

text_enum! {
    /// What is looked at.
    Check {
        /// The order names each slot once, and at least one.
        SlotsNamedOnce = "slots_named_once",
        /// No other guest holds the slot.
        SlotFree = "slot_free",
        /// No other guest holds the PCI device.
        DeviceFree = "device_free",
        /// The PCI device is there.
        DevicePresent = "device_present",
        /// It is the one that was approved.
        DeviceIdentity = "device_identity",
        /// It is bound to `vfio-pci`.
        DeviceDriver = "device_driver",
        /// It is in the IOMMU group that was approved.
        IommuGroup = "iommu_group",
        /// Nothing else that is alive is in its IOMMU group.
        IommuGroupAlone = "iommu_group_alone",
        /// It is on the NUMA node that was approved.
        DeviceNumaNode = "device_numa_node",
        /// The disk is there.
        DiskPresent = "disk_present",
        /// It is the one that was approved.
        DiskIdentity = "disk_identity",
        /// It is a block device.
        DiskIsBlockDevice = "disk_is_block_device",
        /// Neither it nor a part of it is mounted or otherwise in use.
        DiskUnmounted = "disk_unmounted",
        /// It is as large as it was.
        DiskSize = "disk_size",
        /// No other guest has the card's address.
        MacUnused = "mac_unused",
        /// No other guest has the IP address.
        IpUnused = "ip_unused",
        /// The bridge is there.
        BridgePresent = "bridge_present",
        /// The node has the huge pages.
        HugepagesFree = "hugepages_free",
        /// The node has the memory.
        MemoryFree = "memory_free",
        /// The node has the CPUs.
        CpusFree = "cpus_free",
    }
}

/// A PCI device of a slot as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedDevice {
    /// What it is for.
    pub role: Role,
    /// Where it sits.
    pub address: PciAddress,
    /// Its vendor and device numbers and whatever else makes it that one, as the host shows it.
    pub identity: String,
    /// Its NUMA node.
    pub numa_node: u32,
}

/// A disk of a slot as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedDisk {
    /// Where it is.
    pub path: PathBuf,
    /// What makes it that one: its EUI or serial number, or a loop device's backing file.
    pub identity: String,
    /// How large it has to be.
    pub size_bytes_min: u64,
    /// The serial number that the guest reads.
    pub guest_serial: String,
}

/// What a guest gets for each slot, from the slot's profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory.
    pub memory_mib: u64,
    /// The size of the huge pages it is made of; none means ordinary pages.
    pub hugepage_kib: Option<u64>,
}

/// A slot as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedSlot {
    /// Which one.
    pub slot_id: SlotId,
    /// Its NUMA node.
    pub numa_node: u32,
    /// Its PCI devices; a laboratory's slot has none.
    pub devices: Vec<ApprovedDevice>,
    /// Its disk.
    pub disk: ApprovedDisk,
    /// The address of its network card.
    pub mac: Mac,
    /// Its IP address.
    pub ip: Ipv4Addr,
    /// The bridge it is plugged into.
    pub bridge: String,
    /// What a guest gets for it.
    pub share: Share,
}

/// A PCI function as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PciNow {
    /// Where it sits.
    pub address: PciAddress,
    /// What it is.
    pub identity: String,
    /// What drives it.
    pub driver: Option<String>,
    /// Its IOMMU group.
    pub iommu_group: Option<u32>,
    /// Its NUMA node.
    pub numa_node: Option<u32>,
    /// Whether it is a bridge; those may share a group.
    pub is_bridge: bool,
}

/// A disk as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskNow {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub identity: String,
    /// Whether it is a block device.
    pub is_block_device: bool,
    /// How large it is.
    pub size_bytes: u64,
    /// What uses it or a part of it: where it is mounted, what holds it.
    pub used_by: Vec<String>,
}

/// The huge pages of one size on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HugepagesNow {
    /// The node.
    pub numa_node: u32,
    /// Their size.
    pub page_kib: u64,
    /// How many nobody uses; those that the guest itself has already count as free.
    pub free: u64,
}

/// A CPU of the host that guests may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuNow {
    /// Its number.
    pub cpu: u32,
    /// Its node.
    pub numa_node: u32,
    /// Its core; two threads of one core share it.
    pub core: u32,
}

/// The host as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostNow {
    /// Its PCI functions.
    pub pci: Vec<PciNow>,
    /// Its disks.
    pub disks: Vec<DiskNow>,
    /// Its huge pages.
    pub hugepages: Vec<HugepagesNow>,
    /// Free ordinary memory by node; what the guest itself has already counts as free.
    pub memory_free_mib: BTreeMap<u32, u64>,
    /// The CPUs that guests may have; those that the host keeps for itself are not here.
    pub cpus: Vec<CpuNow>,
    /// What is held, and by whom.
    pub leases: Vec<Lease>,
    /// Its bridges.
    pub bridges: BTreeSet<String>,
    /// Card addresses that are in use on its bridges now, and by which guest if that is known.
    pub macs: BTreeMap<Mac, Option<GuestUse>>,
    /// IP addresses that are in use now, and by which guest if that is known.
    pub ips: BTreeMap<Ipv4Addr, Option<GuestUse>>,
}

/// Something that is not as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{check} of {slot}: expected {expected}, found {found}", slot = slot_id.as_ref().map_or("the order".to_owned(), ToString::to_string))]
pub struct PlanRefusal {
    /// What was looked at.
    pub check: Check,
    /// Of which slot; none when it is about the order as a whole.
    pub slot_id: Option<SlotId>,
    /// What was approved or needed.
    pub expected: String,
    /// What there is.
    pub found: String,
}

/// A disk that the guest gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedDisk {
    /// From which slot.
    pub slot_id: SlotId,
    /// Where it is.
    pub path: PathBuf,
    /// What makes it that one.
    pub identity: String,
    /// The serial number that the guest reads.
    pub guest_serial: String,
}

/// What a guest gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundlePlan {
    /// For whom.
    pub guest: GuestUse,
    /// CPUs and memory by NUMA node.
    pub cells: Vec<Cell>,
    /// The size of the pages its memory is made of.
    pub hugepage_kib: Option<u64>,
    /// Its devices, slot by slot.
    pub devices: Vec<Passthrough>,
    /// Its disks, slot by slot.
    pub disks: Vec<PlannedDisk>,
    /// The address of its network card: the first slot's.
    pub mac: Mac,
    /// Its IP address: the first slot's.
    pub ip: Ipv4Addr,
    /// Its bridge: the first slot's.
    pub bridge: String,
    /// What has to be held for it, before anything else is done.
    pub leases: BTreeSet<Thing>,
}

/// Makes the plan for a guest, or says everything that stands against it. The same host and order give the same plan, and
/// a guest that holds its leases already gets the same CPUs again.
pub fn plan(guest: &GuestUse, slots: &[ApprovedSlot], host: &HostNow) -> Result<BundlePlan, Vec<PlanRefusal>> {
    let mut refusals = Refusals(vec![]);
    let named: BTreeSet<&SlotId> = slots.iter().map(|slot| &slot.slot_id).collect();
    let Some(first) = slots.first().filter(|_| named.len() == slots.len()) else {
        refusals.note(Check::SlotsNamedOnce, None, "each slot once", format!("{} of {}", named.len(), slots.len()));
        return Err(refusals.0);
    };
    let own: BTreeSet<PciAddress> = slots.iter().flat_map(|slot| &slot.devices).map(|device| device.address).collect();
    for slot in slots {
        check_leases(guest, slot, host, &mut refusals);
        slot.devices.iter().for_each(|device| check_device(slot, device, &own, host, &mut refusals));
        check_disk(slot, host, &mut refusals);
        if !host.bridges.contains(&slot.bridge) {
            refusals.note(Check::BridgePresent, Some(slot), &slot.bridge, format!("{:?}", host.bridges));
        }
    }
    check_memory(slots, host, &mut refusals);
    let cells = cells(guest, slots, host, &mut refusals);
    if !refusals.0.is_empty() {
        return Err(refusals.0);
    }
    let cpus = cells.iter().flat_map(|cell| cell.cpus.iter().map(|cpu| Thing::Cpu(*cpu)));
    let fixed =
        slots.iter().flat_map(|slot| [Thing::Slot(slot.slot_id.clone()), Thing::Mac(slot.mac), Thing::Ip(slot.ip)]);
    let devices = own.iter().map(|address| Thing::Pci(*address));
    let leases = cpus.chain(fixed).chain(devices).collect();
    Ok(BundlePlan {
        guest: guest.clone(),
        cells,
        hugepage_kib: first.share.hugepage_kib,
        devices: slots
            .iter()
            .flat_map(|slot| &slot.devices)
            .map(|device| Passthrough { address: device.address, role: device.role })
            .collect(),
        disks: slots.iter().map(planned_disk).collect(),
        mac: first.mac,
        ip: first.ip,
        bridge: first.bridge.clone(),
        leases,
    })
}

struct Refusals(Vec<PlanRefusal>);

impl Refusals {
    fn note(&mut self, check: Check, slot: Option<&ApprovedSlot>, expected: impl ToString, found: impl ToString) {
        let slot_id = slot.map(|slot| slot.slot_id.clone());
        self.0.push(PlanRefusal { check, slot_id, expected: expected.to_string(), found: found.to_string() });
    }
}

fn planned_disk(slot: &ApprovedSlot) -> PlannedDisk {
    let ApprovedDisk { path, identity, guest_serial, .. } = slot.disk.clone();
    PlannedDisk { slot_id: slot.slot_id.clone(), path, identity, guest_serial }
}

fn other_holder<'a>(host: &'a HostNow, thing: &Thing, guest: &GuestUse) -> Option<&'a Lease> {
    host.leases.iter().find(|lease| lease.thing == *thing && lease.holder != *guest)
}

fn check_leases(guest: &GuestUse, slot: &ApprovedSlot, host: &HostNow, refusals: &mut Refusals) {
    let held = [
        (Check::SlotFree, Thing::Slot(slot.slot_id.clone())),
        (Check::MacUnused, Thing::Mac(slot.mac)),
        (Check::IpUnused, Thing::Ip(slot.ip)),
    ];
    let devices = slot.devices.iter().map(|device| (Check::DeviceFree, Thing::Pci(device.address)));
    for (check, thing) in held.into_iter().chain(devices) {
        if let Some(lease) = other_holder(host, &thing, guest) {
            refusals.note(check, Some(slot), format!("{thing} held by nobody else"), &lease.holder);
        }
    }
    let seen = [
        (Check::MacUnused, slot.mac.to_string(), host.macs.get(&slot.mac)),
        (Check::IpUnused, slot.ip.to_string(), host.ips.get(&slot.ip)),
    ];
    for (check, address, user) in seen {
        if let Some(user) = user.filter(|user| user.as_ref() != Some(guest)) {
            let user = user.as_ref().map_or("somebody unknown".to_owned(), ToString::to_string);
            refusals.note(check, Some(slot), format!("{address} used by nobody else"), user);
        }
    }
}

fn check_device(
    slot: &ApprovedSlot,
    device: &ApprovedDevice,
    own: &BTreeSet<PciAddress>,
    host: &HostNow,
    refusals: &mut Refusals,
) {
    let Some(now) = host.pci.iter().find(|now| now.address == device.address) else {
        return refusals.note(Check::DevicePresent, Some(slot), device.address, "nothing");
    };
    let at = device.address;
    if now.identity != device.identity {
        refusals.note(Check::DeviceIdentity, Some(slot), format!("{} at {at}", device.identity), &now.identity);
    }
    if now.driver.as_deref() != Some("vfio-pci") {
        let found = now.driver.as_deref().unwrap_or("no driver");
        refusals.note(Check::DeviceDriver, Some(slot), format!("vfio-pci on {at}"), found);
    }
    // Which number a group has is decided anew at each start of the host, so the right one is any that is the device's own: who
    // shares a group shares memory, and a device of another slot or of the host must not be in it.
    if now.iommu_group.is_none() {
        refusals.note(Check::IommuGroup, Some(slot), format!("a group for {at}"), "no group");
    }
    let strangers: Vec<String> = host
        .pci
        .iter()
        .filter(|other| now.iommu_group.is_some() && other.iommu_group == now.iommu_group)
        .filter(|other| !other.is_bridge && !own.contains(&other.address))
        .map(|other| other.address.to_string())
        .collect();
    if !strangers.is_empty() {
        refusals.note(Check::IommuGroupAlone, Some(slot), format!("{at} alone in its group"), strangers.join(", "));
    }
    if now.numa_node != Some(device.numa_node) {
        let found = now.numa_node.map_or("no node".to_owned(), |node| node.to_string());
        refusals.note(Check::DeviceNumaNode, Some(slot), format!("node {} for {at}", device.numa_node), found);
    }
}

fn check_disk(slot: &ApprovedSlot, host: &HostNow, refusals: &mut Refusals) {
    let disk = &slot.disk;
    let path = disk.path.display();
    let Some(now) = host.disks.iter().find(|now| now.path == disk.path) else {
        return refusals.note(Check::DiskPresent, Some(slot), path, "nothing");
    };
    if now.identity != disk.identity {
        refusals.note(Check::DiskIdentity, Some(slot), format!("{} at {path}", disk.identity), &now.identity);
    }
    if !now.is_block_device {
        refusals.note(Check::DiskIsBlockDevice, Some(slot), format!("a block device at {path}"), "something else");
    }
    if !now.used_by.is_empty() {
        refusals.note(Check::DiskUnmounted, Some(slot), format!("{path} used by nothing"), now.used_by.join(", "));
    }
    if now.size_bytes < disk.size_bytes_min {
        let expected = format!("at least {} bytes at {path}", disk.size_bytes_min);
        refusals.note(Check::DiskSize, Some(slot), expected, now.size_bytes);
    }
}

fn check_memory(slots: &[ApprovedSlot], host: &HostNow, refusals: &mut Refusals) {
    let mut needed: BTreeMap<(u32, Option<u64>), (u64, &ApprovedSlot)> = BTreeMap::new();
    for slot in slots {
        let entry = needed.entry((slot.numa_node, slot.share.hugepage_kib)).or_insert((0, slot));
        *entry = (entry.0.saturating_add(slot.share.memory_mib), slot);
    }
    // Pages of two sizes cannot make up one guest here.
    let sizes: BTreeSet<Option<u64>> = slots.iter().map(|slot| slot.share.hugepage_kib).collect();
    if sizes.len() > 1 {
        refusals.note(Check::HugepagesFree, slots.first(), "pages of one size", format!("{sizes:?}"));
    }
    for ((node, page_kib), (memory_mib, slot)) in needed {
        let Some(page_kib) = page_kib else {
            let free = host.memory_free_mib.get(&node).copied().unwrap_or(0);
            if free < memory_mib {
                refusals.note(Check::MemoryFree, Some(slot), format!("{memory_mib} MiB free on node {node}"), free);
            }
            continue;
        };
        let pages = memory_mib.saturating_mul(1024).div_ceil(page_kib.max(1));
        let found = host.hugepages.iter().find(|now| now.numa_node == node && now.page_kib == page_kib);
        let free = found.map_or(0, |now| now.free);
        if free < pages {
            let expected = format!("{pages} free pages of {page_kib} KiB on node {node}");
            refusals.note(Check::HugepagesFree, Some(slot), expected, free);
        }
    }
}

fn cells(guest: &GuestUse, slots: &[ApprovedSlot], host: &HostNow, refusals: &mut Refusals) -> Vec<Cell> {
    let mut nodes: BTreeMap<u32, (usize, u64, &ApprovedSlot)> = BTreeMap::new();
    for slot in slots {
        let vcpus = usize::try_from(slot.share.vcpus).unwrap_or(usize::MAX);
        let entry = nodes.entry(slot.numa_node).or_insert((0, 0, slot));
        *entry = (entry.0.saturating_add(vcpus), entry.1.saturating_add(slot.share.memory_mib), slot);
    }
    let mut cells = vec![];
    for (node, (wanted, memory_mib, slot)) in nodes {
        let cpus = choose_cpus(guest, node, wanted, host);
        if cpus.len() < wanted || wanted == 0 {
            let expected = format!("{wanted} free CPUs on node {node}, at least one");
            refusals.note(Check::CpusFree, Some(slot), expected, cpus.len());
        }
        cells.push(Cell { host_node: node, cpus, memory_mib });
    }
    cells
}

// What the guest holds already, then whole free cores, then single threads; within each the lowest numbers. Threads of one
// core stay together, so that two tenants share one only when there is nothing else left.
fn choose_cpus(guest: &GuestUse, node: u32, wanted: usize, host: &HostNow) -> Vec<u32> {
    let of_node = || host.cpus.iter().filter(move |cpu| cpu.numa_node == node);
    let is_free = |cpu: &CpuNow| other_holder(host, &Thing::Cpu(cpu.cpu), guest).is_none();
    let is_own =
        |cpu: &CpuNow| host.leases.iter().any(|lease| lease.thing == Thing::Cpu(cpu.cpu) && lease.holder == *guest);
    let broken_cores: BTreeSet<u32> = of_node().filter(|cpu| !is_free(cpu)).map(|cpu| cpu.core).collect();
    let mut free: Vec<&CpuNow> = of_node().filter(|cpu| is_free(cpu)).collect();
    free.sort_by_key(|cpu| (!is_own(cpu), broken_cores.contains(&cpu.core), cpu.core, cpu.cpu));
    free.dedup_by_key(|cpu| cpu.cpu);
    let mut chosen: Vec<&CpuNow> = free.into_iter().take(wanted).collect();
    chosen.sort_by_key(|cpu| (cpu.core, cpu.cpu));
    chosen.into_iter().map(|cpu| cpu.cpu).collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
