//! Which disk a device is, now. The answer comes from sysfs by device number, never from a path: a path can lead elsewhere a
//! moment later, a device number that is held open cannot. What a person approved is compared field by field.

use crate::fault::Refusal;
use rustix::fs::{major, makedev, minor};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Where the host shows itself. Tests point it at a captured tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostView {
    /// The root of sysfs.
    pub sys: PathBuf,
    /// The root of procfs.
    pub proc: PathBuf,
    /// Where device nodes are.
    pub dev: PathBuf,
}

impl Default for HostView {
    fn default() -> Self {
        Self { sys: "/sys".into(), proc: "/proc".into(), dev: "/dev".into() }
    }
}

/// A block device's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// From what `stat` calls `st_rdev`.
    pub fn from_raw(raw: u64) -> Self {
        Self { major: major(raw), minor: minor(raw) }
    }

    /// As `stat` says it.
    pub fn to_raw(self) -> u64 {
        makedev(self.major, self.minor)
    }

    /// From `major:minor`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Which disk it is, whatever it is called today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DiskIdentity {
    /// A namespace of an NVMe disk.
    Nvme(NvmeIdentity),
    /// A loop device of the lab profile.
    Loop(LoopIdentity),
}

/// A namespace of an NVMe disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvmeIdentity {
    /// The maker's name for the model.
    pub model: String,
    /// The disk's serial number.
    pub serial: String,
    /// The name of the namespace that no other has, as the kernel writes it.
    pub wwid: String,
    /// The 16 byte identifier, where the disk has one.
    pub nguid: Option<String>,
    /// The 8 byte identifier, where the disk has one.
    pub eui64: Option<String>,
    /// The number of the namespace.
    pub namespace: u32,
    /// How many bytes it holds.
    pub size_bytes: u64,
    /// The smallest piece that can be written.
    pub logical_block_bytes: u32,
}

/// A loop device and the file behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopIdentity {
    /// The kernel's name, `loop3`.
    pub device: String,
    /// The file behind it, as the kernel writes it.
    pub backing_file: String,
    /// How many bytes it holds.
    pub size_bytes: u64,
    /// The smallest piece that can be written.
    pub logical_block_bytes: u32,
}

impl DiskIdentity {
    /// How many bytes the disk holds.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Nvme(disk) => disk.size_bytes,
            Self::Loop(disk) => disk.size_bytes,
        }
    }

    /// The smallest piece that can be read or written.
    pub fn logical_block_bytes(&self) -> u32 {
        match self {
            Self::Nvme(disk) => disk.logical_block_bytes,
            Self::Loop(disk) => disk.logical_block_bytes,
        }
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        let none = || "none".to_owned();
        match self {
            Self::Nvme(disk) => vec![
                ("kind", "nvme".to_owned()),
                ("model", disk.model.clone()),
                ("serial", disk.serial.clone()),
                ("wwid", disk.wwid.clone()),
                ("nguid", disk.nguid.clone().unwrap_or_else(none)),
                ("eui64", disk.eui64.clone().unwrap_or_else(none)),
                ("namespace", disk.namespace.to_string()),
                ("size_bytes", disk.size_bytes.to_string()),
                ("logical_block_bytes", disk.logical_block_bytes.to_string()),
            ],
            Self::Loop(disk) => vec![
                ("kind", "loop".to_owned()),
                ("device", disk.device.clone()),
                ("backing_file", disk.backing_file.clone()),
                ("size_bytes", disk.size_bytes.to_string()),
                ("logical_block_bytes", disk.logical_block_bytes.to_string()),
            ],
        }
    }
}

/// One field in which a disk is not the approved one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Which field.
    pub field: String,
    /// What was approved.
    pub approved: String,
    /// What is there.
    pub seen: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its {} is {:?} where {:?} was approved", self.field, self.seen, self.approved)
    }
}

/// In what a disk differs from the approved one; nothing means that it is that disk.
pub fn compare(approved: &DiskIdentity, seen: &DiskIdentity) -> Vec<Difference> {
    let (approved, seen) = (approved.fields(), seen.fields());
    // Of two kinds, no other field says more than that they are two kinds.
    let count = if approved[0] == seen[0] { seen.len() } else { 1 };
    let differs = approved.into_iter().zip(seen).take(count).filter(|(left, right)| left != right);
    differs.map(|((field, approved), (_, seen))| Difference { field: field.to_owned(), approved, seen }).collect()
}

/// The folder of a block device in sysfs, with every link resolved.
pub(crate) fn folder(host: &HostView, number: DeviceNumber) -> Result<PathBuf, Refusal> {
    let link = host.sys.join("dev/block").join(number.to_string());
    link.canonicalize()
        .map_err(|error| Refusal::unreadable(format!("device {number} in {}", host.sys.display()), error))
}

/// The kernel's name of a block device, `nvme0n1`.
pub(crate) fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Which disk a device is, now.
pub fn read(host: &HostView, number: DeviceNumber) -> Result<DiskIdentity, Refusal> {
    let folder = folder(host, number)?;
    let name = name(&folder);
    if folder.join("partition").exists() {
        return Err(Refusal::Partition { device: name });
    }
    let sectors: u64 = parsed(&folder, "size")?;
    // The kernel counts in 512 bytes here, whatever the disk's own block is.
    let size_bytes = sectors.checked_mul(512).filter(|size| *size > 0);
    let size_bytes = size_bytes.ok_or_else(|| Refusal::unreadable(format!("the size of {name}"), "it is empty"))?;
    let logical_block_bytes: u32 = parsed(&folder, "queue/logical_block_size")?;
    let block_known = logical_block_bytes.is_power_of_two() && (512..=65536).contains(&logical_block_bytes);
    if !block_known || !size_bytes.is_multiple_of(u64::from(logical_block_bytes)) {
        let why = format!("{logical_block_bytes} bytes does not fit a disk of {size_bytes} bytes");
        return Err(Refusal::unreadable(format!("the block size of {name}"), why));
    }
    if folder.join("loop").is_dir() {
        let backing_file = text(&folder, "loop/backing_file")?;
        return Ok(DiskIdentity::Loop(LoopIdentity { device: name, backing_file, size_bytes, logical_block_bytes }));
    }
    if !name.starts_with("nvme") || !folder.join("nsid").exists() {
        return Err(Refusal::UnknownKind { device: name });
    }
    Ok(DiskIdentity::Nvme(NvmeIdentity {
        model: text(&folder, "device/model")?,
        serial: text(&folder, "device/serial")?,
        wwid: text(&folder, "wwid")?,
        nguid: identifier(&folder, "nguid")?,
        eui64: identifier(&folder, "eui")?,
        namespace: parsed(&folder, "nsid")?,
        size_bytes,
        logical_block_bytes,
    }))
}

fn text(folder: &Path, file: &str) -> Result<String, Refusal> {
    let path = folder.join(file);
    let read =
        std::fs::read_to_string(&path).map_err(|error| Refusal::unreadable(path.display().to_string(), error))?;
    match read.trim() {
        "" => Err(Refusal::unreadable(path.display().to_string(), "it is empty")),
        known => Ok(known.to_owned()),
    }
}

pub(crate) fn parsed<T: std::str::FromStr>(folder: &Path, file: &str) -> Result<T, Refusal> {
    let found = text(folder, file)?;
    let not_a_number =
        || Refusal::unreadable(folder.join(file).display().to_string(), format!("{found:?} is no number"));
    found.parse().map_err(|_| not_a_number())
}

// A disk without one shows no file, or zeros, which are the same for all disks and so name none.
fn identifier(folder: &Path, file: &str) -> Result<Option<String>, Refusal> {
    if !folder.join(file).exists() {
        return Ok(None);
    }
    let found = text(folder, file)?;
    let hex: String = found.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_lowercase();
    Ok(hex.chars().any(|digit| digit != '0').then_some(hex))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "identity_tests.rs"]
pub(crate) mod tests;
