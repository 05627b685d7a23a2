//! Who holds what on this host: one small file per slot, CPU, PCI function, network card address and IP address, in one folder. The control
//! plane's claims decide who *should* have a slot; these decide, on the host and without asking anybody, that two guests
//! never share one. A lease appears whole or not at all, stays through a crash and a reboot, says who holds it, and a file
//! that cannot be read counts as held.

use crate::identity::{GuestUse, Mac, PciAddress, Refused, shown};
use model::{SlotId, Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fmt, fs,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    net::Ipv4Addr,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering},
};

const RECORD_BYTES_MAX: u64 = 64 * 1024;
const UNFINISHED: &str = ".new-";

/// What can be held.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thing {
    /// A slot with all its devices.
    Slot(SlotId),
    /// A CPU of the host.
    Cpu(u32),
    /// The address of a network card.
    Mac(Mac),
    /// An IP address.
    Ip(Ipv4Addr),
    /// A PCI function.
    Pci(PciAddress),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot(slot) => write!(f, "slot-{slot}"),
            Self::Cpu(cpu) => write!(f, "cpu-{cpu}"),
            Self::Mac(mac) => write!(f, "mac-{mac}"),
            Self::Ip(ip) => write!(f, "ip-{ip}"),
            Self::Pci(address) => write!(f, "pci-{address}"),
        }
    }
}

impl FromStr for Thing {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let refused = || Refused::new("lease", "the name of a slot, CPU, MAC, IP or PCI address", text);
        let (kind, name) = text.split_once('-').ok_or_else(refused)?;
        let thing = match kind {
            "slot" => Self::Slot(name.parse().map_err(|_| refused())?),
            "cpu" => Self::Cpu(name.parse().map_err(|_| refused())?),
            "mac" => Self::Mac(name.parse().map_err(|_| refused())?),
            "ip" => Self::Ip(name.parse().map_err(|_| refused())?),
            "pci" => Self::Pci(name.parse().map_err(|_| refused())?),
            _ => return Err(refused()),
        };
        if thing.to_string() == text { Ok(thing) } else { Err(refused()) }
    }
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// What is held.
    pub thing: Thing,
    /// By whom.
    pub holder: GuestUse,
    /// Since when.
    pub taken_at: Timestamp,
}

/// Why a lease could not be had or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseFault {
    /// Another guest holds it.
    #[error("{} is held by {} since {}", lease.thing, lease.holder, lease.taken_at)]
    Held {
        /// Its lease.
        lease: Lease,
    },
    /// The record cannot be understood, so it counts as held by somebody.
    #[error("the lease {path} cannot be read: {why}")]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The folder or a file could not be written or read.
    #[error("the leases at {path} cannot be used: {why}")]
    Files {
        /// Where.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
}

/// The leases of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leases {
    /// Their folder; must outlive a reboot.
    pub folder: PathBuf,
}

impl Leases {
    /// Takes all of these things for one guest, or none. What it holds already it keeps.
    pub fn take(&self, things: &BTreeSet<Thing>, holder: &GuestUse, now: Timestamp) -> Result<(), LeaseFault> {
        self.prepare()?;
        let mut taken = vec![];
        for thing in things {
            match self.take_one(thing, holder, now) {
                Ok(true) => taken.push(thing.clone()),
                Ok(false) => {}
                Err(fault) => {
                    // What it held before stays; what was added now goes.
                    for thing in &taken {
                        self.release_one(thing, holder)?;
                    }
                    return Err(fault);
                }
            }
        }
        sync(&self.folder)
    }

    /// Who holds a thing.
    pub fn read(&self, thing: &Thing) -> Result<Option<Lease>, LeaseFault> {
        read_file(&self.path(thing), thing)
    }

    /// Every lease, in order.
    pub fn list(&self) -> Result<Vec<Lease>, LeaseFault> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            // No folder: nothing was ever taken here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(files(&self.folder, &error)),
        };
        let mut leases = vec![];
        for entry in entries {
            let path = entry.map_err(|error| files(&self.folder, &error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // What a process that died was about to take and did not.
            if name.starts_with(UNFINISHED) {
                continue;
            }
            let thing: Thing = name.parse().map_err(|why: Refused| broken(&path, &why))?;
            leases.extend(read_file(&path, &thing)?);
        }
        leases.sort_by(|a, b| a.thing.cmp(&b.thing));
        Ok(leases)
    }

    /// Releases what a guest holds. What it does not hold is left alone: another's lease is a fault, none is fine.
    pub fn release(&self, things: &BTreeSet<Thing>, holder: &GuestUse) -> Result<(), LeaseFault> {
        for thing in things {
            self.release_one(thing, holder)?;
        }
        sync_if_there(&self.folder)
    }

    /// Releases everything that a guest holds, and says what that was.
    pub fn release_all(&self, holder: &GuestUse) -> Result<Vec<Lease>, LeaseFault> {
        let mut held = self.list()?;
        held.retain(|lease| lease.holder == *holder);
        self.release(&held.iter().map(|lease| lease.thing.clone()).collect(), holder)?;
        Ok(held)
    }

    /// Clears records that were never finished. For the start of a process, when nobody takes leases.
    pub fn sweep(&self) -> Result<(), LeaseFault> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(()) };
        for entry in entries {
            let path = entry.map_err(|error| files(&self.folder, &error))?.path();
            let unfinished = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED));
            if unfinished {
                fs::remove_file(&path).map_err(|error| files(&path, &error))?;
            }
        }
        Ok(())
    }

    fn path(&self, thing: &Thing) -> PathBuf {
        self.folder.join(thing.to_string())
    }

    fn prepare(&self) -> Result<(), LeaseFault> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(|error| files(&self.folder, &error))
    }

    // Whether it is new. The record is written apart and then linked to its name, which fails if the name is taken.
    fn take_one(&self, thing: &Thing, holder: &GuestUse, now: Timestamp) -> Result<bool, LeaseFault> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if let Some(lease) = self.read(thing)? {
            return held_by(lease, holder);
        }
        let lease = Lease { thing: thing.clone(), holder: holder.clone(), taken_at: now };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let apart = self.folder.join(format!("{UNFINISHED}{thing}.{}.{number}", process::id()));
        let path = self.path(thing);
        let write = || {
            let bytes = serde_json::to_vec(&lease)?;
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&apart)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::hard_link(&apart, &path)
        };
        let written = write();
        let _ = fs::remove_file(&apart);
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match self.read(thing)? {
                Some(lease) => held_by(lease, holder),
                None => Err(files(&path, &error)),
            },
            Err(error) => Err(files(&path, &error)),
        }
    }

    fn release_one(&self, thing: &Thing, holder: &GuestUse) -> Result<(), LeaseFault> {
        let Some(lease) = self.read(thing)? else { return Ok(()) };
        held_by(lease, holder)?;
        let path = self.path(thing);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(files(&path, &error)),
            _ => Ok(()),
        }
    }
}

fn held_by(lease: Lease, holder: &GuestUse) -> Result<bool, LeaseFault> {
    if lease.holder == *holder { Ok(false) } else { Err(LeaseFault::Held { lease }) }
}

fn read_file(path: &Path, thing: &Thing) -> Result<Option<Lease>, LeaseFault> {
    let mut bytes = vec![];
    match File::open(path).and_then(|file| file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(files(path, &error)),
    }
    let lease: Lease = serde_json::from_slice(&bytes).map_err(|error| broken(path, &error))?;
    if lease.thing == *thing { Ok(Some(lease)) } else { Err(broken(path, &shown(&lease.thing.to_string()))) }
}

fn broken(path: &Path, why: &impl ToString) -> LeaseFault {
    LeaseFault::Broken { path: path.to_owned(), why: why.to_string() }
}

fn files(path: &Path, error: &io::Error) -> LeaseFault {
    LeaseFault::Files { path: path.to_owned(), why: error.to_string() }
}

fn sync(folder: &Path) -> Result<(), LeaseFault> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| files(folder, &error))
}

fn sync_if_there(folder: &Path) -> Result<(), LeaseFault> {
    if folder.exists() { sync(folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::tests::{guest, slot};
    use std::thread;

    fn things(cpus: &[u32]) -> BTreeSet<Thing> {
        cpus.iter().map(|cpu| Thing::Cpu(*cpu)).collect()
    }

    fn leases(folder: &tempfile::TempDir) -> Leases {
        Leases { folder: folder.path().join("leases") }
    }

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    #[test]
    fn a_thing_is_held_once_and_says_by_whom() {
        let folder = tempfile::tempdir().unwrap();
        let leases = leases(&folder);
        let wanted = BTreeSet::from([
            Thing::Slot(slot(1)),
            Thing::Cpu(4),
            Thing::Mac("02:00:00:00:2a:05".parse().unwrap()),
            Thing::Ip([10, 0, 0, 9].into()),
            Thing::Pci("0000:0f:00.0".parse().unwrap()),
        ]);
        leases.take(&wanted, &guest(1), NOW).unwrap();
        leases.take(&wanted, &guest(1), NOW.plus_seconds(9)).unwrap();
        assert_eq!(leases.read(&Thing::Cpu(4)).unwrap().unwrap().taken_at, NOW);
        assert_eq!(leases.list().unwrap().len(), 5);
        let fault = leases.take(&wanted, &guest(2), NOW).unwrap_err();
        assert!(matches!(&fault, LeaseFault::Held { lease } if lease.holder == guest(1)), "{fault}");
        assert!(matches!(leases.release(&wanted, &guest(2)), Err(LeaseFault::Held { .. })));
        assert_eq!(leases.release_all(&guest(1)).unwrap().len(), 5);
        assert_eq!(leases.list().unwrap(), []);
        leases.release(&wanted, &guest(1)).unwrap();
    }

    #[test]
    fn all_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let leases = leases(&folder);
        leases.take(&things(&[3]), &guest(1), NOW).unwrap();
        leases.take(&things(&[1]), &guest(2), NOW).unwrap();
        assert!(leases.take(&things(&[1, 2, 3, 4]), &guest(2), NOW).is_err());
        let held: Vec<Thing> = leases.list().unwrap().into_iter().map(|lease| lease.thing).collect();
        assert_eq!(held, [Thing::Cpu(1), Thing::Cpu(3)]);
    }

    #[test]
    fn what_cannot_be_read_counts_as_held_and_what_was_never_finished_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let leases = leases(&folder);
        leases.take(&things(&[1]), &guest(1), NOW).unwrap();
        fs::write(leases.folder.join(".new-cpu-2.1.1"), "{").unwrap();
        assert_eq!(leases.list().unwrap().len(), 1);
        leases.sweep().unwrap();
        assert!(!leases.folder.join(".new-cpu-2.1.1").exists());
        leases.take(&things(&[2]), &guest(1), NOW).unwrap();
        for text in ["", "{}", "null"] {
            fs::write(leases.folder.join("cpu-3"), text).unwrap();
            assert!(matches!(leases.take(&things(&[3]), &guest(1), NOW), Err(LeaseFault::Broken { .. })), "{text}");
            assert!(leases.list().is_err());
        }
        fs::copy(leases.folder.join("cpu-1"), leases.folder.join("cpu-3")).unwrap();
        assert!(matches!(leases.read(&Thing::Cpu(3)), Err(LeaseFault::Broken { .. })));
        fs::rename(leases.folder.join("cpu-3"), leases.folder.join("stray")).unwrap();
        assert!(matches!(leases.list(), Err(LeaseFault::Broken { .. })));
    }

    #[test]
    fn a_host_without_leases_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(leases(&folder).list(), Ok(vec![]));
        assert_eq!(leases(&folder).release_all(&guest(1)), Ok(vec![]));
    }

    #[test]
    fn of_many_that_want_it_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let leases = &leases(&folder);
        let take = |number: i64| leases.take(&things(&[7]), &guest(number), NOW);
        let won = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|number| scope.spawn(move || take(number).is_ok())).collect();
            all.into_iter().map(|one| usize::from(one.join().unwrap())).sum::<usize>()
        });
        assert_eq!(won, 1);
        assert_eq!(leases.list().unwrap().len(), 1);
    }

    #[test]
    fn names_are_read_back_exactly() {
        for bad in [
            "",
            "cpu",
            "cpu-",
            "cpu-+1",
            "cpu-01",
            "gpu-1",
            "slot-x",
            "mac-0",
            "ip-1.2.3",
            "mac-02:00:00:00:2A:05",
            "pci-0f:00.0",
        ] {
            assert!(bad.parse::<Thing>().is_err(), "{bad}");
        }
    }
}
