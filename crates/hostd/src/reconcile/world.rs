//! What is on the host, gathered for one comparison. Machines, records, processes and leases must be known, or there is no
//! comparison; a network or a device that cannot be looked at is a finding of its own.

use crate::{
    bundle,
    config::Config,
    devices::{PartitionSeen, WrongDriver},
    disks::{self, DiskFound},
    failed::Failed,
    host::Hostd,
    record,
    record::{console_logs_dir, consoles_dir, seeds_dir, vars_dir},
};
use guest::{
    domain::{self, DomainSeen},
    identity::{GuestUse, PciAddress, SlotUse},
    leases::Lease,
    machine::{Machines, State},
};
use model::{
    AllocationId, SlotId,
    guest::BundleDevice,
    runtime::GuestLeaseState,
    task::{PlanSlot, ReconcileOrder},
};
use network::{Change, GuestPort};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::PathBuf,
};

/// A machine that libvirt knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainLook {
    /// Its name.
    pub name: String,
    /// The guest it is; none when the platform did not make it.
    pub guest: Option<GuestUse>,
    /// The slots it says it sits on, and which use of each.
    pub uses: Vec<SlotUse>,
    /// Those, and the ones whose disk or devices it has.
    pub slots: BTreeSet<SlotId>,
    /// What it is doing.
    pub state: State,
    /// Where it is not what its record says.
    pub differences: Vec<String>,
    /// The devices it has.
    pub devices: Vec<PciAddress>,
}

/// A guest that has a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestLook {
    /// Which.
    pub guest: GuestUse,
    /// The slots it sits on, and which use of each.
    pub uses: Vec<SlotUse>,
    /// Its place in the network.
    pub port: GuestPort,
    /// Whether it was built to the end.
    pub ready: bool,
    /// Whether a process runs it.
    pub running: bool,
    /// How its address stands.
    pub lease: GuestLeaseState,
    /// The numbers of its GPUs on the board.
    pub modules: BTreeSet<u32>,
}

/// A folder in which each guest has files of its own, named for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Folder {
    /// Seeds.
    Seeds,
    /// The variables of its firmware.
    Vars,
    /// What was said on its console.
    ConsoleLogs,
    /// The socket of its console.
    Consoles,
}

impl Folder {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Seeds, Self::Vars, Self::ConsoleLogs, Self::Consoles];

    /// Where it is.
    pub fn path(self, config: &Config) -> PathBuf {
        match self {
            Self::Seeds => seeds_dir(config),
            Self::Vars => vars_dir(config),
            Self::ConsoleLogs => console_logs_dir(config),
            Self::Consoles => consoles_dir(config),
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seeds => "The seed",
            Self::Vars => "The firmware's variables",
            Self::ConsoleLogs => "The console's log",
            Self::Consoles => "The console",
        })
    }
}

/// Whose a file in one of these folders is; none when it is named for no guest.
pub fn file_owner(file: &str) -> Option<GuestUse> {
    file.split('.').find_map(GuestUse::from_name)
}

/// All that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// Machines.
    pub domains: Vec<DomainLook>,
    /// Guests with a record.
    pub guests: Vec<GuestLook>,
    /// Processes that run guests.
    pub processes: Vec<(u32, GuestUse)>,
    /// Leases.
    pub leases: Vec<Lease>,
    /// What would have to be done to the network, or why that is not known.
    pub network: Result<Vec<Change>, String>,
    /// Files of guests.
    pub files: Vec<(Folder, String)>,
    /// Slots whose disk cannot be used, and why.
    pub disks: Vec<(SlotId, String)>,
    /// How many bytes the image cache is over its limit, and its unfinished files.
    pub cache: (u64, Vec<String>),
    /// Approved devices that are not on the driver that guests need, or why that is not known.
    pub drivers: Result<Vec<(SlotId, WrongDriver)>, String>,
    /// The partitions of the fabric, none where there is no fabric, or why they are not known.
    pub partitions: Result<Option<Vec<PartitionSeen>>, String>,
    /// Devices of slots and guests, and of GPUs their numbers on the board.
    pub known: BTreeMap<PciAddress, Option<u32>>,
}

impl World {
    /// Everybody of whom there is a sign.
    pub fn allocations(&self) -> BTreeSet<AllocationId> {
        let domains = self.domains.iter().filter_map(|domain| domain.guest.as_ref());
        let others = self.guests.iter().map(|look| &look.guest);
        let running = self.processes.iter().map(|(_, guest)| guest);
        let holders = self.leases.iter().map(|lease| &lease.holder);
        domains.chain(others).chain(running).chain(holders).map(|guest| guest.allocation_id.clone()).collect()
    }
}

impl Hostd {
    /// Looks at everything that a comparison needs.
    pub(crate) fn world(&self, order: &ReconcileOrder) -> Result<World, Failed> {
        // Before the records: a guest has its record before its partition is switched on, so whatever is on now and is
        // somebody's has a record to be found below.
        let partitions = self.devices.partitions().map_err(|fault| fault.to_string());
        let records = self.records.list().map_err(Failed::plain)?;
        let domains = self.domains().map_err(Failed::plain)?;
        let processes = self.processes()?;
        let running: BTreeSet<&GuestUse> = processes.iter().map(|(_, guest)| guest).collect();
        let guests = records.iter().map(|record| GuestLook {
            guest: record.guest.clone(),
            uses: record.slot_uses(),
            port: record.port(),
            ready: record.ready,
            running: running.contains(&record.guest),
            lease: self.seen(record).lease_state,
            modules: bundle::modules(record),
        });
        let guests = guests.collect();
        let disks = disks::all(&self.view).map_err(Failed::plain)?;
        let by_path: BTreeMap<String, &SlotId> = order
            .slots
            .iter()
            .filter_map(|slot| {
                let found = disks::with_identity(&disks, &slot.bundle.disk_identity).ok()?;
                Some((found.path.display().to_string(), &slot.slot_id))
            })
            .collect();
        let mut looks = vec![];
        for seen in &domains {
            let Some(state) = self.virsh.state(seen.uuid).map_err(Failed::plain)? else { continue };
            looks.push(self.domain_look(seen, state.state, &records, &by_path, &order.slots));
        }
        Ok(World {
            domains: looks,
            guests,
            leases: self.leases.list().map_err(Failed::plain)?,
            network: self.network_changes().map_err(|fault| fault.to_string()),
            files: self.files()?,
            disks: order.slots.iter().filter_map(|slot| self.disk_fault(slot, &disks, &records)).collect(),
            cache: self.cache.clutter().map_err(Failed::plain)?,
            drivers: self.drivers(&order.slots),
            partitions,
            known: known(&order.slots, &records),
            processes,
        })
    }

    fn domain_look(
        &self,
        seen: &DomainSeen,
        state: State,
        records: &[record::Record],
        by_path: &BTreeMap<String, &SlotId>,
        slots: &[PlanSlot],
    ) -> DomainLook {
        let guest = seen.guest.as_ref().map(|seen| seen.guest.clone());
        let record = records.iter().find(|record| Some(&record.guest) == guest.as_ref());
        let differences = record.map_or(vec![], |record| {
            let differences = domain::compare(&record::domain_spec(&self.config, record), seen);
            differences.iter().map(ToString::to_string).collect()
        });
        let devices: Vec<PciAddress> = seen.hostdevs.iter().filter_map(|device| device.address).collect();
        let uses: Vec<SlotUse> = seen.guest.iter().flat_map(|seen| seen.slots.clone()).collect();
        let mut on: BTreeSet<SlotId> = uses.iter().map(|held| held.slot_id.clone()).collect();
        on.extend(seen.disks.iter().filter_map(|disk| by_path.get(&disk.source)).map(|slot| (*slot).clone()));
        let has = |slot: &&PlanSlot| addresses(slot).iter().any(|address| devices.contains(address));
        on.extend(slots.iter().filter(has).map(|slot| slot.slot_id.clone()));
        DomainLook { name: seen.name.clone(), guest, uses, slots: on, state, differences, devices }
    }

    fn files(&self) -> Result<Vec<(Folder, String)>, Failed> {
        let mut files = vec![];
        for folder in Folder::ALL {
            let path = folder.path(&self.config);
            let unreadable = |error: io::Error| Failed::plain(format!("{}: {error}", path.display()));
            let entries = match fs::read_dir(&path) {
                // The folder of consoles comes with the first of them.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(unreadable)?,
            };
            for entry in entries {
                files.push((folder, entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned()));
            }
        }
        files.sort();
        Ok(files)
    }

    // Why the disk of a slot cannot be used. That a guest of the platform has it is no reason.
    fn disk_fault(&self, slot: &PlanSlot, disks: &[DiskFound], records: &[record::Record]) -> Option<(SlotId, String)> {
        let why = match disks::with_identity(disks, &slot.bundle.disk_identity) {
            Err(fault) => Some(fault.to_string()),
            Ok(found) => {
                let uses = disk::inspect::inspect(&self.view, found.number).unwrap_or_else(|refusal| vec![refusal]);
                disk_why(&slot.slot_id, slot.bundle.share.disk_bytes_min, found, &uses, records)
            }
        };
        why.map(|why| (slot.slot_id.clone(), why))
    }

    fn drivers(&self, slots: &[PlanSlot]) -> Result<Vec<(SlotId, WrongDriver)>, String> {
        let mut wrong = vec![];
        for slot in slots {
            let found = self.devices.wrong_drivers(&addresses(slot)).map_err(|fault| fault.to_string())?;
            wrong.extend(found.into_iter().map(|found| (slot.slot_id.clone(), found)));
        }
        Ok(wrong)
    }
}

// What stands against a disk that is there: who uses it, that it is too small, or that a guest was given it at another place.
fn disk_why(
    slot_id: &SlotId,
    bytes_min: u64,
    found: &DiskFound,
    uses: &[disk::Refusal],
    records: &[record::Record],
) -> Option<String> {
    if !uses.is_empty() {
        return Some(uses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    }
    let bytes = found.identity.size_bytes();
    if bytes < bytes_min {
        return Some(format!("at least {bytes_min} bytes were expected, found {bytes}"));
    }
    let given = |record: &record::Record| {
        let disk = record.plan.disks.iter().find(|disk| disk.slot_id == *slot_id)?;
        let same = disk.identity == found.text;
        (!same).then(|| format!("{} was expected for {}, found {}", disk.identity, record.guest, found.text))
    };
    records.iter().find_map(given)
}

fn addresses(slot: &PlanSlot) -> Vec<PciAddress> {
    let devices = [&slot.bundle.gpu, &slot.bundle.fabric];
    devices.into_iter().flatten().filter_map(|device| device.pci_address.parse().ok()).collect()
}

// A GPU without a number is not known: it may be any.
fn known(slots: &[PlanSlot], records: &[record::Record]) -> BTreeMap<PciAddress, Option<u32>> {
    let held = records.iter().flat_map(|record| &record.slots).filter_map(|slot| slot.bundle.as_deref());
    let mut known = BTreeMap::new();
    for bundle in slots.iter().map(|slot| &slot.bundle).chain(held) {
        let of = |device: &BundleDevice| device.pci_address.parse::<PciAddress>().ok();
        if let (Some(gpu), Some(module)) = (bundle.gpu.as_ref().and_then(of), bundle.gpu_module_id) {
            known.insert(gpu, Some(module));
        }
        known.extend(bundle.fabric.as_ref().and_then(of).map(|function| (function, None)));
    }
    known
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        config::tests::GOOD,
        record::tests::{guest_use, record, slot_id},
    };
    use disk::{DeviceNumber, DiskIdentity, LoopIdentity, Refusal};

    fn found(file: &str) -> DiskFound {
        let identity = DiskIdentity::Loop(LoopIdentity {
            device: "loop1".into(),
            backing_file: file.into(),
            size_bytes: 1 << 20,
            logical_block_bytes: 512,
        });
        let number = DeviceNumber { major: 7, minor: 1 };
        DiskFound { path: "/dev/loop1".into(), text: format!("loop:{file}"), identity, number }
    }

    #[test]
    fn a_disk_is_used_as_it_is_or_says_why_not() {
        let (own, records) = (found("/disks/1.img"), [record(1), record(2)]);
        let why = |bytes_min, found: &DiskFound, uses: &[Refusal]| {
            disk_why(&slot_id(1), bytes_min, found, uses, &records).unwrap_or_default()
        };
        assert_eq!(why(1 << 20, &own, &[]), "");
        assert_eq!(why(1 << 21, &own, &[]), "at least 2097152 bytes were expected, found 1048576");
        let mounted = Refusal::Mounted { device: "loop1".into(), point: "/mnt".into() };
        assert!(why(1, &own, &[mounted]).contains("/mnt"));
        let other = why(1, &found("/disks/9.img"), &[]);
        assert!(other.starts_with("loop:/disks/1.img was expected for"), "{other}");
    }

    #[test]
    fn every_file_of_a_guest_is_in_a_folder_that_is_looked_at() {
        let config = Config::parse(GOOD).unwrap();
        let places = record::places(&config, &guest_use(1));
        let folders: BTreeSet<PathBuf> = Folder::ALL.iter().map(|folder| folder.path(&config)).collect();
        for path in [places.seed, places.vars, places.console_log, places.console_dir] {
            assert!(folders.contains(path.parent().unwrap()), "{}", path.display());
            assert_eq!(file_owner(path.file_name().unwrap().to_str().unwrap()), Some(guest_use(1)));
        }
        assert_eq!(file_owner(&format!("{}.log.0", guest_use(1).name())), Some(guest_use(1)));
    }
}
