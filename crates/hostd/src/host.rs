//! The host in this process's hands: the settings, what outlives the process, the programs it runs, and the locks that keep
//! two orders out of each other's way. The verbs are in modules of their own.

use crate::{
    config::Config,
    devices::Devices,
    failed::Failed,
    marks::Marks,
    notice::Notices,
    record::{Records, console_logs_dir, seeds_dir, vars_dir},
    stream::Streams,
    work::Hands,
};
use disk::{Cache, HostView};
use guest::{
    domain::{self, DomainSeen},
    identity::GuestUse,
    leases::Leases,
    machine::{self, MachineFault, Machines, Virsh, Which},
    seed::IsoWriter,
};
use model::Timestamp;
use network::{Applied, GuestPort};
use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Now, by the host's clock.
#[expect(clippy::disallowed_methods, reason = "this process acts on a real host; its clock is the host's")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// The same in microseconds, for the disk's clock.
pub(crate) fn now_us() -> u64 {
    u64::try_from(now().as_micros()).unwrap_or(0)
}

/// The host.
pub struct Hostd {
    pub(crate) config: Config,
    pub(crate) virsh: Virsh,
    pub(crate) leases: Leases,
    pub(crate) records: Records,
    pub(crate) marks: Marks,
    pub(crate) cache: Cache,
    pub(crate) iso: IsoWriter,
    pub(crate) view: HostView,
    pub(crate) tools: disk::Tools,
    pub(crate) devices: Box<dyn Devices>,
    pub(crate) hands: Hands,
    pub(crate) streams: Streams,
    pub(crate) notices: Notices,
    planning: Mutex<()>,
    network: Mutex<()>,
    pub(crate) images: Mutex<()>,
}

impl std::fmt::Debug for Hostd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hostd").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Hostd {
    /// Opens what outlives the process and clears what an earlier one left unfinished.
    pub fn open(config: Config, devices: Box<dyn Devices>) -> Result<Self, Failed> {
        Self::open_at(config, devices, HostView::default())
    }

    /// The same where the host is looked at somewhere else than at its own `/sys`, `/proc` and `/dev`.
    pub fn open_at(config: Config, devices: Box<dyn Devices>, view: HostView) -> Result<Self, Failed> {
        let at = |name: &str| config.state_dir.join(name);
        // QEMU's user must be able to reach its own seed and variables, by name, and to list nothing.
        for (folder, mode) in [
            (config.state_dir.clone(), 0o711),
            (seeds_dir(&config), 0o711),
            (vars_dir(&config), 0o711),
            (console_logs_dir(&config), 0o700),
            (at("images"), 0o700),
        ] {
            folder_make(&folder, mode)?;
        }
        let leases = Leases { folder: at("leases") };
        leases.sweep().map_err(Failed::plain)?;
        let virsh = Virsh { uri: config.libvirt_uri.clone(), ..Virsh::default() };
        Ok(Self {
            records: Records::open(&at("guests")).map_err(Failed::plain)?,
            marks: Marks::open(&at("unwiped")).map_err(Failed::plain)?,
            cache: Cache::open(&at("images"), config.images.bytes_max).map_err(Failed::plain)?,
            virsh,
            leases,
            iso: IsoWriter::default(),
            view,
            tools: disk::Tools::default(),
            devices,
            hands: Hands::default(),
            streams: Streams::default(),
            notices: Notices::default(),
            planning: Mutex::new(()),
            network: Mutex::new(()),
            images: Mutex::new(()),
            config,
        })
    }

    /// One plan at a time: two must not both see the same memory free.
    pub(crate) fn planning(&self) -> MutexGuard<'_, ()> {
        self.planning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every machine that libvirt knows, as it is now. One that goes while we look is not there.
    pub(crate) fn domains(&self) -> Result<Vec<DomainSeen>, MachineFault> {
        let mut domains = vec![];
        for uuid in self.virsh.list()? {
            match self.virsh.dumpxml(uuid, Which::Now) {
                Ok(xml) => domains.push(domain::read_domain(&xml)?),
                Err(MachineFault::NoSuchDomain { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(domains)
    }

    /// Every guest of the platform that a process runs.
    pub(crate) fn processes(&self) -> Result<Vec<(u32, GuestUse)>, Failed> {
        machine::processes_of_guests(&self.view.proc).map_err(Failed::plain)
    }

    /// The guests that processes run.
    pub(crate) fn running(&self) -> Result<BTreeSet<GuestUse>, Failed> {
        Ok(self.processes()?.into_iter().map(|(_, guest)| guest).collect())
    }

    /// The places in the network of every guest that has a record and is not being taken away.
    pub(crate) fn ports(&self) -> Result<Vec<GuestPort>, Failed> {
        let records = self.records.list().map_err(Failed::plain)?;
        Ok(records.iter().filter(|record| record.wants_network()).map(|record| record.port()).collect())
    }

    /// Makes the network what the records say it should be. One at a time, and the records are read inside: whoever comes last
    /// has seen everybody's.
    pub(crate) fn network_settle(&self, new: Option<&GuestPort>) -> Result<Applied, Failed> {
        let _one = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let host = &self.config.network;
        let wanted = network::desired(host, &self.ports()?).map_err(Failed::plain)?;
        let seen = network::see(host).map_err(Failed::plain)?;
        if let Some(guest) = new {
            network::address_check(guest, &seen).map_err(Failed::plain)?;
        }
        network::apply(host, &network::diff(&wanted, &seen)).map_err(Failed::plain)
    }

    /// What would have to be done to the network, without doing it.
    pub(crate) fn network_changes(&self) -> Result<Vec<network::Change>, Failed> {
        let _one = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let host = &self.config.network;
        let wanted = network::desired(host, &self.ports()?).map_err(Failed::plain)?;
        Ok(network::diff(&wanted, &network::see(host).map_err(Failed::plain)?))
    }
}

pub(crate) fn folder_make(folder: &Path, mode: u32) -> Result<(), Failed> {
    let make = || {
        DirBuilder::new().recursive(true).mode(mode).create(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(mode))
    };
    make().map_err(|error| Failed::plain(format!("the folder {} cannot be made: {error}", folder.display())))
}
