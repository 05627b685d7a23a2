//! The host as it is now, for the plan: processors, memory, PCI functions and disks from sysfs and procfs, addresses from the
//! bridge and its DHCP server, and who holds what. Nothing is changed and nothing is remembered. What cannot be read is a fault,
//! except of things that nobody asks for: those are simply not there for the plan.

use crate::{disks::DiskFound, record::Record};
use disk::{DeviceNumber, HostView};
use guest::{
    domain::DomainSeen,
    identity::{GuestUse, Mac, PciAddress},
    plan::{CpuNow, DiskNow, HugepagesNow, PciNow},
};
use network::Seen;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::Ipv4Addr,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Why the host cannot be looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} cannot be read: {why}")]
pub struct LookFault {
    /// What.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

fn text(path: &Path) -> Result<String, LookFault> {
    let read = fs::read_to_string(path);
    read.map(|text| text.trim().to_owned()).map_err(|error| fault(path, error))
}

fn fault(path: &Path, why: impl ToString) -> LookFault {
    LookFault { path: path.to_owned(), why: why.to_string() }
}

fn number<T: std::str::FromStr>(path: &Path) -> Result<T, LookFault> {
    let said = text(path)?;
    said.parse().map_err(|_| fault(path, format!("{said:?} is no number")))
}

/// `0-2,5` as the kernel writes sets of numbers.
pub fn number_set(text: &str) -> Option<BTreeSet<u32>> {
    const NUMBER_MAX: u32 = 65_536;
    let mut numbers = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last > NUMBER_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

fn set(path: &Path) -> Result<BTreeSet<u32>, LookFault> {
    let said = text(path)?;
    number_set(&said).ok_or_else(|| fault(path, format!("{said:?} is no set of numbers")))
}

/// The NUMA nodes of the host.
pub fn nodes(view: &HostView) -> Result<BTreeSet<u32>, LookFault> {
    set(&view.sys.join("devices/system/node/online"))
}

/// The CPUs that guests may have.
pub fn cpus(view: &HostView, kept: &[u32]) -> Result<Vec<CpuNow>, LookFault> {
    let online = set(&view.sys.join("devices/system/cpu/online"))?;
    let mut cpus = vec![];
    for numa_node in nodes(view)? {
        let listed = set(&view.sys.join(format!("devices/system/node/node{numa_node}/cpulist")))?;
        for cpu in listed.intersection(&online).copied().filter(|cpu| !kept.contains(cpu)) {
            let folder = view.sys.join(format!("devices/system/cpu/cpu{cpu}/topology"));
            // A core is known by the first of its threads, which is the same number for all of them.
            let threads = set(&folder.join("thread_siblings_list"))?;
            let core = threads.first().copied().unwrap_or(cpu);
            cpus.push(CpuNow { cpu, numa_node, core });
        }
    }
    Ok(cpus)
}

/// The huge pages of each size on each node.
pub fn hugepages(view: &HostView) -> Result<Vec<HugepagesNow>, LookFault> {
    let mut all = vec![];
    for numa_node in nodes(view)? {
        let folder = view.sys.join(format!("devices/system/node/node{numa_node}/hugepages"));
        for (name, path) in children(&folder)? {
            let size = name.strip_prefix("hugepages-").and_then(|size| size.strip_suffix("kB")?.parse().ok());
            let page_kib = size.ok_or_else(|| fault(&path, "it names no size"))?;
            all.push(HugepagesNow { numa_node, page_kib, free: number(&path.join("free_hugepages"))? });
        }
    }
    Ok(all)
}

/// The memory of each node that could be had at once: what is free, and what only keeps copies of files.
pub fn memory_free_mib(view: &HostView) -> Result<BTreeMap<u32, u64>, LookFault> {
    let mut all = BTreeMap::new();
    for node in nodes(view)? {
        let path = view.sys.join(format!("devices/system/node/node{node}/meminfo"));
        let kib = memory_kib(&text(&path)?).ok_or_else(|| fault(&path, "it does not say what is free"))?;
        all.insert(node, kib / 1024);
    }
    Ok(all)
}

fn memory_kib(meminfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let mut lines = meminfo.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(found, _)| found.split_whitespace().last() == Some(name))?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    };
    // Half of the files' pages may be wanted again at once.
    Some(field("MemFree")?.saturating_add(field("Inactive(file)").unwrap_or(0) / 2))
}

fn children(folder: &Path) -> Result<Vec<(String, PathBuf)>, LookFault> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).map_err(|error| fault(folder, error))? {
        let entry = entry.map_err(|error| fault(folder, error))?;
        all.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    all.sort();
    Ok(all)
}

/// The PCI functions of the host; none where there is no such bus.
pub fn pci(view: &HostView) -> Result<Vec<PciNow>, LookFault> {
    let folder = view.sys.join("bus/pci/devices");
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let one_node = nodes(view)?.len() == 1;
    let mut all = vec![];
    for (name, path) in children(&folder)? {
        let Ok(address) = name.parse::<PciAddress>() else { continue };
        let hex = |file: &str| text(&path.join(file)).map(|said| said.trim_start_matches("0x").to_owned());
        let link = |file: &str| fs::read_link(path.join(file)).ok();
        let last = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let node: i64 = number(&path.join("numa_node"))?;
        all.push(PciNow {
            address,
            identity: format!("{}:{}", hex("vendor")?, hex("device")?),
            driver: link("driver").and_then(last),
            iommu_group: link("iommu_group").and_then(last).and_then(|group| group.parse().ok()),
            // A host with one node says -1 for all of its devices.
            numa_node: u32::try_from(node).ok().or(one_node.then_some(0)),
            is_bridge: hex("class")?.starts_with("0604"),
        });
    }
    Ok(all)
}

/// The disks as the plan wants them: who uses each, as far as the kernel, libvirt and the records of guests say. The guest's
/// own machine does not count.
pub fn disks_now(
    view: &HostView,
    disks: &[DiskFound],
    domains: &[DomainSeen],
    records: &[Record],
    own: &GuestUse,
) -> Vec<DiskNow> {
    let of_domain = |disk: &DiskFound| {
        let path = disk.path.display().to_string();
        let uses = move |domain: &&DomainSeen| domain.disks.iter().any(|seen| seen.source == path);
        let is_own = |domain: &&DomainSeen| domain.guest.as_ref().is_some_and(|seen| seen.guest == *own);
        let others = domains.iter().filter(move |domain| uses(domain) && !is_own(domain));
        others.map(|domain| format!("the machine {}", domain.name)).collect::<Vec<_>>()
    };
    // A guest that is being built has its disk before it has a machine.
    let of_record = |disk: &DiskFound| {
        let has = |record: &&Record| record.plan.disks.iter().any(|planned| planned.identity == disk.text);
        let others = records.iter().filter(|record| record.guest != *own).filter(has);
        others.map(|record| format!("the guest {}", record.guest)).collect::<Vec<_>>()
    };
    let now = |disk: &DiskFound| {
        let refusals = disk::inspect::inspect(view, disk.number).unwrap_or_else(|refusal| vec![refusal]);
        DiskNow {
            path: disk.path.clone(),
            identity: disk.text.clone(),
            is_block_device: is_node_of(&disk.path, disk.number),
            size_bytes: disk.identity.size_bytes(),
            used_by: refusals.iter().map(ToString::to_string).chain(of_domain(disk)).chain(of_record(disk)).collect(),
        }
    };
    disks.iter().map(now).collect()
}

// Whether what lies at a path leads to the disk that the kernel told of.
fn is_node_of(path: &Path, disk: DeviceNumber) -> bool {
    let found = fs::metadata(path);
    found.is_ok_and(|about| about.file_type().is_block_device() && DeviceNumber::from_raw(about.rdev()) == disk)
}

/// Addresses in use on the bridge, in the DHCP server and by machines, and by which guest where that is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressesNow {
    /// Card addresses.
    pub macs: BTreeMap<Mac, Option<GuestUse>>,
    /// IP addresses.
    pub ips: BTreeMap<Ipv4Addr, Option<GuestUse>>,
}

/// Who uses which address.
pub fn addresses(seen: &Seen, records: &[Record], domains: &[DomainSeen]) -> AddressesNow {
    let mut now = AddressesNow::default();
    let by_port: BTreeMap<String, &GuestUse> =
        records.iter().map(|record| (record.port().port_name(), &record.guest)).collect();
    let by_mac: BTreeMap<String, &GuestUse> =
        records.iter().map(|record| (record.plan.mac.to_string(), &record.guest)).collect();
    let mut note = |mac: Option<Mac>, ip: Option<Ipv4Addr>, user: Option<GuestUse>| {
        if let Some(mac) = mac {
            now.macs.insert(mac, user.clone());
        }
        if let Some(ip) = ip {
            now.ips.insert(ip, user);
        }
    };
    for lease in &seen.leases {
        let mac = lease.mac.to_string();
        note(mac.parse().ok(), Some(lease.ip), by_mac.get(&mac).map(|guest| (*guest).clone()));
    }
    for (port, line) in &seen.reservations {
        let user = by_port.get(port).map(|guest| (*guest).clone());
        for word in line.trim().split(',') {
            note(word.parse().ok(), word.parse().ok(), user.clone());
        }
    }
    for domain in domains {
        for nic in &domain.nics {
            note(Some(nic.mac), None, domain.guest.as_ref().map(|seen| seen.guest.clone()));
        }
    }
    let gateway = seen.gateway.mac.to_string().parse().ok();
    note(gateway, None, None);
    for (ip, _) in &seen.gateway.addresses {
        note(None, Some(*ip), None);
    }
    now
}

/// Memory that other guests were promised and do not have yet, by node and page size: their machines are not up.
pub fn promised_mib(
    records: &[Record],
    own: &GuestUse,
    running: &BTreeSet<GuestUse>,
) -> BTreeMap<(u32, Option<u64>), u64> {
    let mut promised: BTreeMap<(u32, Option<u64>), u64> = BTreeMap::new();
    for record in records.iter().filter(|record| record.guest != *own && !running.contains(&record.guest)) {
        for cell in &record.plan.cells {
            let entry = promised.entry((cell.host_node, record.plan.hugepage_kib)).or_default();
            *entry = entry.saturating_add(cell.memory_mib);
        }
    }
    promised
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "look_tests.rs"]
mod tests;
