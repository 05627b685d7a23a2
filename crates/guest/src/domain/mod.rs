//! The machine of one guest, as data: what libvirt is asked for ([`DomainSpec`]), what libvirt says there is
//! ([`DomainSeen`]), and where the two differ ([`compare`]).
//!
//! A guest gets what its claim names and nothing else: no graphics, no USB, no sound, no balloon, and every passed-through
//! device on a root port of its own. Devices are never taken from the host by libvirt (`managed='no'`): whoever bound them
//! to `vfio-pci` keeps them so. Whether QEMU runs on KVM or in software is said, never found out.

mod build;
mod compare;
mod read;

use crate::identity::{GuestUse, Mac, PciAddress, Refused, SlotUse, Uuid};
use crate::xml::fits;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

pub use crate::xml::XmlFault;
pub use build::build;
pub use compare::{Difference, compare};
pub use read::{
    DeviceSeen, DiskSeen, DomainSeen, FirmwareSeen, GuestSeen, HostdevSeen, NicSeen, ReadFault, read_domain,
};

/// The XML namespace of what the platform writes into a domain about itself.
pub const NAMESPACE: &str = "urn:gpuaas:guest:1";

const DISKS_MAX: usize = 16;
const DEVICES_MAX: usize = 32;
const CPUS_MAX: usize = 1024;

/// What executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// The processor, by KVM.
    Kvm,
    /// QEMU, in software.
    Tcg,
}

impl Accelerator {
    /// The type of domain that libvirt knows it by.
    pub const fn domain_type(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "qemu",
        }
    }
}

/// What processor the guest sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuModel {
    /// The host's own; needs KVM.
    HostPassthrough,
    /// All that the accelerator can do.
    Maximum,
    /// One of QEMU's by its name.
    Named(String),
}

/// What the guest starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Firmware {
    /// SeaBIOS, which comes with QEMU.
    Bios,
    /// UEFI.
    Uefi {
        /// The firmware, read only.
        code: PathBuf,
        /// What this guest's variables start from.
        vars_template: PathBuf,
        /// This guest's variables; made from the template, removed with the definition.
        vars: PathBuf,
    },
}

/// Processors and memory of one NUMA node of the host, and one of the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The host's node.
    pub host_node: u32,
    /// The host's CPUs; each carries one virtual CPU.
    pub cpus: Vec<u32>,
    /// Memory from that node.
    pub memory_mib: u64,
}

/// A whole block device of the host, as a disk of the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// The device.
    pub device: PathBuf,
    /// What the guest reads as its serial number.
    pub serial: String,
}

/// What a passed-through device is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A GPU.
    Gpu,
    /// A virtual function of the fabric.
    FabricVf,
}

/// A PCI function that the guest gets whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passthrough {
    /// Where it sits on the host.
    pub address: PciAddress,
    /// What it is for.
    pub role: Role,
}

/// Whether checksums and segmentation are left to the network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offloads {
    /// Left to it: right for a kernel datapath.
    On,
    /// Done by the guest: a userspace datapath drops TCP otherwise.
    Off,
}

/// The guest's network card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Its address.
    pub mac: Mac,
    /// The Open vSwitch bridge it is plugged into.
    pub bridge: String,
    /// The VLAN of its port.
    pub vlan: u16,
    /// What Open vSwitch knows the port by.
    pub interface_id: Uuid,
    /// What the host's end is called.
    pub tap: String,
    /// Who does checksums.
    pub offloads: Offloads,
}

/// Where the serial console goes: to a socket, and into a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Console {
    /// The socket.
    pub path: PathBuf,
    /// The log.
    pub log: PathBuf,
}

/// A guest's machine as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainSpec {
    /// Which guest; its name and UUID follow.
    pub guest: GuestUse,
    /// The slots it sits on.
    pub slots: Vec<SlotUse>,
    /// What runs it.
    pub accelerator: Accelerator,
    /// QEMU.
    pub emulator: PathBuf,
    /// What processor it sees.
    pub cpu_model: CpuModel,
    /// Its processors and memory by NUMA node.
    pub cells: Vec<Cell>,
    /// The host CPUs that QEMU's own threads may use; none means those of the guest.
    pub emulator_cpus: Vec<u32>,
    /// The size of the huge pages its memory is made of; none means ordinary pages.
    pub hugepage_kib: Option<u64>,
    /// What it starts from.
    pub firmware: Firmware,
    /// Its disks; it starts from the first.
    pub disks: Vec<Disk>,
    /// The image with its seed.
    pub seed: PathBuf,
    /// What it gets whole.
    pub passthrough: Vec<Passthrough>,
    /// Its network card.
    pub nic: Nic,
    /// Its serial console.
    pub console: Console,
    /// The socket by which it is told that it will be stopped.
    pub notice: PathBuf,
}

impl DomainSpec {
    /// How many virtual CPUs it has.
    pub fn vcpus(&self) -> usize {
        self.cells.iter().map(|cell| cell.cpus.len()).sum()
    }

    /// How much memory it has.
    pub fn memory_mib(&self) -> u64 {
        self.cells.iter().fold(0, |sum, cell| sum.saturating_add(cell.memory_mib))
    }

    /// Whether every field keeps its rule.
    pub fn check(&self) -> Result<(), Refused> {
        self.check_cells()?;
        self.check_names()?;
        let mut paths = vec![("emulator", &self.emulator), ("seed", &self.seed)];
        paths.extend(self.disks.iter().map(|disk| ("disks.device", &disk.device)));
        if let Firmware::Uefi { code, vars_template, vars } = &self.firmware {
            paths.extend([("firmware.code", code), ("firmware.vars_template", vars_template), ("firmware.vars", vars)]);
        }
        paths.extend([("console.path", &self.console.path), ("console.log", &self.console.log)]);
        paths.push(("notice", &self.notice));
        paths.into_iter().try_for_each(|(field, path)| check_path(field, path))
    }

    fn check_cells(&self) -> Result<(), Refused> {
        let vcpus = self.vcpus();
        check(!self.slots.is_empty(), "slots", "at least one slot", "none")?;
        check((1..=CPUS_MAX).contains(&vcpus), "cells", &format!("1 to {CPUS_MAX} CPUs"), &vcpus.to_string())?;
        let cpus: BTreeSet<u32> = self.cells.iter().flat_map(|cell| cell.cpus.iter().copied()).collect();
        check(cpus.len() == vcpus, "cells", "every host CPU once", "one of them twice")?;
        let nodes: BTreeSet<u32> = self.cells.iter().map(|cell| cell.host_node).collect();
        check(nodes.len() == self.cells.len(), "cells", "every host node once", "one of them twice")?;
        for cell in &self.cells {
            let memory = cell.memory_mib;
            let pages = memory.checked_mul(1024).is_some_and(|kib| {
                kib > 0 && self.hugepage_kib.is_none_or(|page| page > 0 && kib.is_multiple_of(page))
            });
            check(!cell.cpus.is_empty(), "cells", "a CPU in every cell", "a cell with none")?;
            check(pages, "cells", "whole pages of memory in every cell", &format!("{memory} MiB"))?;
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Refused> {
        let count = self.disks.len();
        check((1..=DISKS_MAX).contains(&count), "disks", &format!("1 to {DISKS_MAX} disks"), &count.to_string())?;
        let devices: BTreeSet<PciAddress> = self.passthrough.iter().map(|device| device.address).collect();
        check(devices.len() == self.passthrough.len(), "passthrough", "every device once", "one of them twice")?;
        let few = devices.len() <= DEVICES_MAX;
        check(few, "passthrough", &format!("at most {DEVICES_MAX} devices"), &devices.len().to_string())?;
        let paths: BTreeSet<&Path> = self.disks.iter().map(|disk| disk.device.as_path()).collect();
        check(paths.len() == count, "disks", "every device once", "one of them twice")?;
        let word = |text: &str, length: usize| {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
            (1..=length).contains(&text.len()) && !text.starts_with(['-', '.']) && text.bytes().all(allowed)
        };
        for disk in &self.disks {
            let rule = "1 to 20 letters, digits, dots, underscores and hyphens";
            check(word(&disk.serial, 20), "disks.serial", rule, &disk.serial)?;
        }
        let rule = "the name of a network device: 1 to 15 letters, digits, dots, underscores and hyphens";
        check(word(&self.nic.bridge, 15), "nic.bridge", rule, &self.nic.bridge)?;
        // libvirt takes names of its own making for advice and picks another.
        let own =
            word(&self.nic.tap, 15) && !["vnet", "vif", "macvtap"].iter().any(|made| self.nic.tap.starts_with(made));
        check(own, "nic.tap", &format!("{rule}, not one that libvirt gives itself"), &self.nic.tap)?;
        check((1..=4094).contains(&self.nic.vlan), "nic.vlan", "1 to 4094", &self.nic.vlan.to_string())?;
        match &self.cpu_model {
            CpuModel::Named(name) => check(word(name, 64), "cpu_model", "the name of a CPU model", name),
            CpuModel::HostPassthrough if self.accelerator == Accelerator::Tcg => {
                check(false, "cpu_model", "a model that software can be", "the host's own")
            }
            CpuModel::HostPassthrough | CpuModel::Maximum => Ok(()),
        }
    }
}

fn check(good: bool, field: &str, expected: &str, found: &str) -> Result<(), Refused> {
    if good { Ok(()) } else { Err(Refused::new(field, expected, found)) }
}

fn check_path(field: &str, path: &Path) -> Result<(), Refused> {
    let text = path.to_str().filter(|text| text.len() <= 1024 && fits(text) && text.trim() == *text);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let rule = "an absolute path without control characters, outer spaces and `..`";
    check(text.is_some() && plain && path.is_absolute(), field, rule, &path.to_string_lossy())
}

#[cfg(test)]
#[path = "tests.rs"]
pub(crate) mod tests;
