//! What the process knows of each guest that it makes: one file an allocation, written whole before each step. After a crash the
//! record says how far it came, and everything that was made can be found from it. It holds the guest's private host key, so
//! only root can read it.

use guest::{
    domain::{Console, Disk, DomainSpec, Firmware, Nic, Offloads},
    identity::{GuestUse, SlotUse},
    machine::StopProgress,
    plan::BundlePlan,
    seed::HostKey,
};
use model::{AllocationId, Timestamp, guest::GuestSpec, runtime::WorkStep, task::TaskSlot};
use network::{Attach, Datapath, GuestPort};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::config::{Config, FirmwareChoice};

const RECORD_BYTES_MAX: u64 = 4 * 1024 * 1024;
const ENDING: &str = ".json";
const UNFINISHED: &str = ".new";

/// A guest of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Which guest.
    pub guest: GuestUse,
    /// The slots it sits on, with what was approved for them.
    pub slots: Vec<TaskSlot>,
    /// What it is.
    pub spec: GuestSpec,
    /// What it gets of the host.
    pub plan: BundlePlan,
    /// Its host key.
    pub host_key: HostKey,
    /// The step that was begun last.
    pub step: WorkStep,
    /// When its machine was started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Whether it was built to the end.
    pub ready: bool,
    /// How far stopping it has come.
    #[serde(default)]
    pub stop: StopProgress,
}

impl Record {
    /// Whether its place in the network is still wanted: until it is being taken away.
    pub fn wants_network(&self) -> bool {
        self.step != WorkStep::Remove
    }

    /// The slots and which use of each.
    pub fn slot_uses(&self) -> Vec<SlotUse> {
        slot_uses(&self.slots)
    }

    /// Its place in the network.
    pub fn port(&self) -> GuestPort {
        GuestPort {
            allocation_id: self.guest.allocation_id.clone(),
            use_generation: self.guest.use_generation,
            mac: network::Mac::new(self.plan.mac.0),
            ip: self.plan.ip,
            interface_id: self.guest.uuid().to_string(),
            attach: Attach::Hypervisor,
        }
    }
}

/// The slots and which use of each.
pub fn slot_uses(slots: &[TaskSlot]) -> Vec<SlotUse> {
    let one = |slot: &TaskSlot| SlotUse { slot_id: slot.slot_id.clone(), use_generation: slot.use_generation };
    slots.iter().map(one).collect()
}

/// Where what belongs to a guest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Its seed.
    pub seed: PathBuf,
    /// Its firmware's variables.
    pub vars: PathBuf,
    /// The folder of its console.
    pub console_dir: PathBuf,
    /// The socket of its console.
    pub console: PathBuf,
    /// The socket by which it is told that it will be stopped, in the same folder.
    pub notice: PathBuf,
    /// What was said on its console.
    pub console_log: PathBuf,
}

/// The folder of seeds.
pub fn seeds_dir(config: &Config) -> PathBuf {
    config.state_dir.join("seeds")
}

/// The folder of the variables of firmwares.
pub fn vars_dir(config: &Config) -> PathBuf {
    config.state_dir.join("vars")
}

/// The folder of what was said on consoles.
pub fn console_logs_dir(config: &Config) -> PathBuf {
    config.state_dir.join("consoles")
}

/// The folder of consoles. Sockets have short names, so they are not beside the rest.
pub fn consoles_dir(config: &Config) -> PathBuf {
    config.socket.parent().unwrap_or(Path::new("/run")).join("console")
}

/// Where what belongs to a guest is.
pub fn places(config: &Config, guest: &GuestUse) -> Places {
    let name = guest.name();
    let console_dir = consoles_dir(config).join(&name);
    Places {
        seed: seeds_dir(config).join(format!("{name}.iso")),
        vars: vars_dir(config).join(format!("{name}.fd")),
        console: console_dir.join("socket"),
        notice: console_dir.join("notice"),
        console_log: console_logs_dir(config).join(format!("{name}.log")),
        console_dir,
    }
}

/// The machine of a guest as libvirt is asked for it.
pub fn domain_spec(config: &Config, record: &Record) -> DomainSpec {
    let places = places(config, &record.guest);
    let port = record.port();
    let firmware = match &config.firmware {
        FirmwareChoice::Bios {} => Firmware::Bios,
        FirmwareChoice::Uefi { code, vars_template } => {
            Firmware::Uefi { code: code.clone(), vars_template: vars_template.clone(), vars: places.vars }
        }
    };
    let disk = |disk: &guest::plan::PlannedDisk| Disk { device: disk.path.clone(), serial: disk.guest_serial.clone() };
    // The bridge's rules keep guests apart; should they ever be replaced by ordinary switching, this still does.
    let vlan = u16::try_from(port.cookie() % 4094).unwrap_or(0) + 1;
    DomainSpec {
        guest: record.guest.clone(),
        slots: record.slot_uses(),
        accelerator: config.accelerator,
        emulator: config.emulator.clone(),
        cpu_model: config.cpu_model.clone(),
        cells: record.plan.cells.clone(),
        emulator_cpus: config.host_cpus.clone(),
        hugepage_kib: record.plan.hugepage_kib,
        firmware,
        disks: record.plan.disks.iter().map(disk).collect(),
        seed: places.seed,
        passthrough: record.plan.devices.clone(),
        nic: Nic {
            mac: record.plan.mac,
            bridge: record.plan.bridge.clone(),
            vlan,
            interface_id: record.guest.uuid(),
            tap: port.port_name(),
            offloads: if config.network.datapath == Datapath::Netdev { Offloads::Off } else { Offloads::On },
        },
        console: Console { path: places.console, log: places.console_log },
        notice: places.notice,
    }
}

/// Why records cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the record {path} cannot be used: {why}")]
pub struct RecordFault {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// The records of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// In a folder, which is made.
    pub fn open(folder: &Path) -> Result<Self, RecordFault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| fault(folder, &error))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Every record, by allocation. One that cannot be read is a fault: it may stand for a guest.
    pub fn list(&self) -> Result<Vec<Record>, RecordFault> {
        let mut records = vec![];
        for entry in fs::read_dir(&self.folder).map_err(|error| fault(&self.folder, &error))? {
            let path = entry.map_err(|error| fault(&self.folder, &error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // What a process that died was about to write.
            if name.ends_with(UNFINISHED) {
                continue;
            }
            let id = name.strip_suffix(ENDING).and_then(|id| id.parse::<AllocationId>().ok());
            let id =
                id.ok_or_else(|| RecordFault { path: path.clone(), why: "it is named for no allocation".into() })?;
            records.extend(self.read(&id)?);
        }
        records.sort_by(|one, other| one.guest.cmp(&other.guest));
        Ok(records)
    }

    /// The record of an allocation.
    pub fn read(&self, allocation_id: &AllocationId) -> Result<Option<Record>, RecordFault> {
        let path = self.path(allocation_id);
        let broken = |why: String| RecordFault { path: path.clone(), why };
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault(&path, &error)),
            Ok(about) if about.len() > RECORD_BYTES_MAX => return Err(broken("it is too large".to_owned())),
            Ok(_) => {}
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault(&path, &error)),
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if record.guest.allocation_id != *allocation_id {
            return Err(broken(format!("it speaks of {}", record.guest)));
        }
        Ok(Some(record))
    }

    /// Writes a record, whole and for good.
    pub fn write(&self, record: &Record) -> Result<(), RecordFault> {
        write_whole(&self.folder, &self.path(&record.guest.allocation_id), record)
    }

    /// Removes a record. One that is not there is removed already.
    pub fn remove(&self, allocation_id: &AllocationId) -> Result<(), RecordFault> {
        let path = self.path(allocation_id);
        match fs::remove_file(&path).and_then(|()| File::open(&self.folder)?.sync_all()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault(&path, &error)),
            _ => Ok(()),
        }
    }

    fn path(&self, allocation_id: &AllocationId) -> PathBuf {
        self.folder.join(format!("{allocation_id}{ENDING}"))
    }
}

/// Writes a file of JSON in a folder, for root alone: after a crash it is there as it was before or as it is now, never half.
pub(crate) fn write_whole(folder: &Path, path: &Path, what: &impl Serialize) -> Result<(), RecordFault> {
    let apart = path.with_extension(format!("json{UNFINISHED}"));
    let write = || {
        let bytes = serde_json::to_vec(what)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&apart)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&apart, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| fault(path, &error))
}

pub(crate) fn fault(path: &Path, error: &io::Error) -> RecordFault {
    RecordFault { path: path.to_owned(), why: error.to_string() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use crate::{config::tests::GOOD, host_key};
    use guest::{domain::Cell, leases::Thing, plan::PlannedDisk};
    use model::{
        SlotId,
        guest::{SlotBundle, SlotShare},
        image::{ImageFormat, ImageKind, ImageSpec},
    };
    use std::{collections::BTreeSet, os::unix::fs::PermissionsExt};

    pub(crate) fn slot_id(number: u8) -> SlotId {
        SlotId::from_parts(Timestamp::from_micros(1), [number; 10])
    }

    pub(crate) fn guest_use(number: u8) -> GuestUse {
        let allocation_id = AllocationId::from_parts(Timestamp::from_micros(1), [number; 10]);
        GuestUse { allocation_id, use_generation: 3 }
    }

    pub(crate) fn bundle(number: u8) -> SlotBundle {
        SlotBundle {
            profile: "lab-vm".into(),
            gpu: None,
            gpu_module_id: None,
            fabric: None,
            disk_identity: format!("loop:/disks/{number}.img"),
            mac: format!("02:00:00:00:01:{number:02x}"),
            ip: [10, 77, 0, number].into(),
            numa_node: 0,
            share: SlotShare { vcpus: 1, memory_mib: 128, hugepage_kib: None, disk_bytes_min: 1 << 20 },
        }
    }

    pub(crate) fn task_slot(number: u8) -> TaskSlot {
        let bundle = Some(Box::new(bundle(number)));
        TaskSlot { slot_id: slot_id(number), use_generation: 3, nonce: None, bundle }
    }

    pub(crate) fn guest_spec() -> GuestSpec {
        GuestSpec {
            host_name: "one".into(),
            user_name: "gpuaas".into(),
            ssh_keys: vec![
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada".into(),
            ],
            user_data: None,
            image: ImageSpec {
                id: "tiny".into(),
                sha256: "0".repeat(64),
                size_bytes: 512,
                format: ImageFormat::Raw,
                virtual_size_bytes: 512,
                minimum_disk_bytes: 512,
                kind: ImageKind::Base,
                signer_key_id: "main".into(),
                signature: "0".repeat(128),
            },
            partition: vec![],
        }
    }

    pub(crate) fn record(number: u8) -> Record {
        let guest = guest_use(number);
        let bundle = bundle(number);
        Record {
            slots: vec![task_slot(number)],
            spec: guest_spec(),
            plan: BundlePlan {
                guest: guest.clone(),
                cells: vec![Cell { host_node: 0, cpus: vec![number.into()], memory_mib: 128 }],
                hugepage_kib: None,
                devices: vec![],
                disks: vec![PlannedDisk {
                    slot_id: slot_id(number),
                    path: format!("/dev/loop{number}").into(),
                    identity: bundle.disk_identity.clone(),
                    guest_serial: format!("S{number}"),
                }],
                mac: bundle.mac.parse().unwrap(),
                ip: bundle.ip,
                bridge: "br-gpu".into(),
                leases: BTreeSet::from([Thing::Slot(slot_id(number))]),
            },
            host_key: host_key::make().unwrap(),
            step: WorkStep::SshReady,
            started_at: Some(Timestamp::from_micros(5_000_000)),
            ready: true,
            stop: StopProgress::default(),
            guest,
        }
    }

    #[test]
    fn a_record_is_read_back_as_it_was_and_only_by_root() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guests");
        let records = Records::open(&path).unwrap();
        assert_eq!(records.list(), Ok(vec![]));
        records.write(&record(1)).unwrap();
        let second = Record { step: WorkStep::Clone, ready: false, ..record(2) };
        records.write(&second).unwrap();
        records.write(&second).unwrap();
        assert_eq!(records.list().unwrap().len(), 2);
        assert_eq!(records.read(&second.guest.allocation_id).unwrap().unwrap(), second);
        for entry in fs::read_dir(&path).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        records.remove(&second.guest.allocation_id).unwrap();
        records.remove(&second.guest.allocation_id).unwrap();
        assert_eq!(records.read(&second.guest.allocation_id), Ok(None));
    }

    #[test]
    fn what_cannot_be_read_is_a_fault_and_what_was_never_finished_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let id = guest_use(1).allocation_id;
        fs::write(folder.path().join(format!("{id}.json.new")), "{").unwrap();
        assert_eq!(records.list(), Ok(vec![]));
        records.write(&record(1)).unwrap();
        fs::write(folder.path().join(format!("{id}.json")), "{}").unwrap();
        assert!(records.list().is_err() && records.read(&id).is_err());
        let mut other = record(1);
        other.guest = guest_use(2);
        records.write(&other).unwrap();
        fs::rename(
            folder.path().join(format!("{}.json", other.guest.allocation_id)),
            folder.path().join(format!("{id}.json")),
        )
        .unwrap();
        assert!(records.read(&id).unwrap_err().to_string().contains("it speaks of"));
        fs::remove_file(folder.path().join(format!("{id}.json"))).unwrap();
        fs::write(folder.path().join("stray"), "").unwrap();
        assert!(records.list().is_err());
    }

    #[test]
    fn the_machine_of_a_record_keeps_every_rule() {
        let config = Config::parse(GOOD).unwrap();
        let spec = domain_spec(&config, &record(1));
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(spec.nic.offloads, Offloads::Off);
        assert_eq!(spec.nic.tap, record(1).port().port_name());
        assert!(guest::domain::build(&spec).is_ok());
    }
}
