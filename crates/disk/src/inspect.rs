//! Whether a disk is free to be written: a whole disk, not mounted in any part, held by nothing, not swapped to, shown by no
//! second loop device. The facts are gathered first and judged by a pure function. Mounts of other name spaces are not seen
//! here; the exclusive open sees those.

use crate::{
    fault::Refusal,
    identity::{self, DeviceNumber, HostView},
};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// A block device by name and number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name.
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The device it says it is on; some file systems make one up.
    pub number: DeviceNumber,
    /// What it was mounted from, which is a path for those that make one up.
    pub source: String,
    /// Where it is.
    pub point: String,
}

/// What there is to know about a disk before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The disk.
    pub device: Device,
    /// Whether it is only a part of one.
    pub is_partition: bool,
    /// Whether it cannot be written.
    pub is_read_only: bool,
    /// Its partitions.
    pub partitions: Vec<Device>,
    /// What sits on it: the device below, and the one above.
    pub holders: Vec<(String, String)>,
    /// Where it, or what device, is mounted: number, and place.
    pub mounts: Vec<(DeviceNumber, String)>,
    /// What is swapped to.
    pub swaps: Vec<DeviceNumber>,
    /// Other loop devices that show its bytes.
    pub shown_by: Vec<String>,
}

/// Every reason against writing to a disk with these facts.
pub fn judge(facts: &Facts) -> Vec<Refusal> {
    let device = facts.device.name.clone();
    let mut refusals = vec![];
    if facts.is_partition {
        refusals.push(Refusal::Partition { device: device.clone() });
    }
    if facts.is_read_only {
        refusals.push(Refusal::ReadOnly { device: device.clone() });
    }
    for part in std::iter::once(&facts.device).chain(&facts.partitions) {
        let mounts = facts.mounts.iter().filter(|(number, _)| *number == part.number);
        refusals.extend(mounts.map(|(_, point)| Refusal::Mounted { device: part.name.clone(), point: point.clone() }));
        if facts.swaps.contains(&part.number) {
            refusals.push(Refusal::Swap { device: part.name.clone() });
        }
    }
    let held = |(below, above): &(String, String)| Refusal::Held { device: below.clone(), holder: above.clone() };
    refusals.extend(facts.holders.iter().map(held));
    let shared = |other: &String| Refusal::Shared { device: device.clone(), other: other.clone() };
    refusals.extend(facts.shown_by.iter().map(shared));
    refusals
}

/// Every reason against writing to a disk, now.
pub fn inspect(host: &HostView, number: DeviceNumber) -> Result<Vec<Refusal>, Refusal> {
    gather(host, number).map(|facts| judge(&facts))
}

/// What there is to know about a disk, now.
pub fn gather(host: &HostView, number: DeviceNumber) -> Result<Facts, Refusal> {
    let folder = identity::folder(host, number)?;
    let device = Device { name: identity::name(&folder), number };
    let mut partitions = vec![];
    let mut holders = holders_of(&folder, &device.name)?;
    for below in children(&folder)?.into_iter().filter(|below| below.join("partition").exists()) {
        let name = identity::name(&below);
        let said: String = identity::parsed(&below, "dev")?;
        let number =
            DeviceNumber::parse(&said).ok_or_else(|| Refusal::unreadable(format!("the number of {name}"), said))?;
        holders.extend(holders_of(&below, &name)?);
        partitions.push(Device { name, number });
    }
    let mounts = parse_mountinfo(&listing(host, "self/mountinfo")?)?;
    let mounts = mounts.into_iter().map(|mount| {
        let made_up = mount.number.major == 0 && mount.source.starts_with('/');
        let behind = if made_up { number_at(Path::new(&mount.source)) } else { None };
        (behind.unwrap_or(mount.number), mount.point)
    });
    let mounts = mounts.collect();
    // A file that is swapped to is no block device of its own; its file system is mounted, and seen by that.
    let swaps = parse_swaps(&listing(host, "swaps")?)?;
    let swaps = swaps.iter().filter_map(|path| number_at(Path::new(path))).collect();
    let is_read_only = identity::parsed::<u32>(&folder, "ro")? != 0;
    let is_partition = folder.join("partition").exists();
    let shown_by = shown_by(host, &device, &partitions, &folder)?;
    Ok(Facts { device, is_partition, is_read_only, partitions, holders, mounts, swaps, shown_by })
}

fn listing(host: &HostView, file: &str) -> Result<String, Refusal> {
    let path = host.proc.join(file);
    let bytes = fs::read(&path).map_err(|error| Refusal::unreadable(path.display().to_string(), error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn children(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let unreadable = |error: std::io::Error| Refusal::unreadable(folder.display().to_string(), error);
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}

fn holders_of(folder: &Path, name: &str) -> Result<Vec<(String, String)>, Refusal> {
    let held = children(&folder.join("holders"))?;
    Ok(held.iter().map(|above| (name.to_owned(), identity::name(above))).collect())
}

// A loop device opens what is behind it without claiming it, so neither holders nor an exclusive open show it.
fn shown_by(host: &HostView, device: &Device, parts: &[Device], folder: &Path) -> Result<Vec<String>, Refusal> {
    let behind = |folder: &Path| fs::read_to_string(folder.join("loop/backing_file")).ok().map(|f| f.trim().to_owned());
    let mut same: BTreeSet<String> = behind(folder).into_iter().collect();
    let nodes = std::iter::once(device).chain(parts);
    same.extend(nodes.map(|part| host.dev.join(&part.name).display().to_string()));
    let mut others = vec![];
    for other in children(&host.sys.join("block"))? {
        let name = identity::name(&other);
        if name != device.name && behind(&other).is_some_and(|file| same.contains(&file)) {
            others.push(name);
        }
    }
    Ok(others)
}

/// The number of the block device at a path, if there is one. Asks no server and waits for nobody.
pub(crate) fn number_at(path: &Path) -> Option<DeviceNumber> {
    let seen = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok()?;
    let is_block = FileType::from_raw_mode(seen.stx_mode.into()).is_block_device();
    is_block.then_some(DeviceNumber { major: seen.stx_rdev_major, minor: seen.stx_rdev_minor })
}

/// Reads `/proc/self/mountinfo`. A line that is not understood could be the one that matters, so it is a refusal.
pub fn parse_mountinfo(listing: &str) -> Result<Vec<Mount>, Refusal> {
    let line = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(2);
        let number = DeviceNumber::parse(before.next()?)?;
        let point = unescape(before.nth(1)?);
        let source = unescape(after.split(' ').nth(1)?);
        Some(Mount { number, source, point })
    };
    let read = |text: &str| line(text).ok_or_else(|| Refusal::unreadable("the list of mounts", format!("{text:?}")));
    listing.lines().map(read).collect()
}

/// Reads `/proc/swaps`: the paths that are swapped to.
pub fn parse_swaps(listing: &str) -> Result<Vec<String>, Refusal> {
    let mut lines = listing.lines();
    if !lines.next().is_some_and(|head| head.starts_with("Filename")) {
        return Err(Refusal::unreadable("the list of swap space", "its head is missing"));
    }
    let path = |line: &str| line.split_whitespace().next().filter(|path| path.starts_with('/')).map(unescape);
    let read =
        |line: &str| path(line).ok_or_else(|| Refusal::unreadable("the list of swap space", format!("{line:?}")));
    lines.map(read).collect()
}

// The kernel writes blanks and the like as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Another process, or another descriptor of this one, that has one of the devices open. A guest's QEMU and a `qemu-img`
/// that outlived its parent hold a disk without claiming it, so an exclusive open does not notice them.
pub(crate) fn open_elsewhere(host: &HostView, devices: &[DeviceNumber], own: i32) -> Result<Option<Refusal>, Refusal> {
    let me = std::process::id();
    let all = children(&host.proc)?;
    for process in all {
        let Ok(pid) = identity::name(&process).parse::<u32>() else { continue };
        let descriptors = match fs::read_dir(process.join("fd")) {
            Ok(descriptors) => descriptors,
            // It ended while we looked.
            Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(3) => continue,
            Err(error) => return Err(Refusal::unreadable(format!("what process {pid} has open"), error)),
        };
        for descriptor in descriptors.flatten() {
            let is_own = pid == me && descriptor.file_name().to_str() == Some(own.to_string().as_str());
            if !is_own && number_at(&descriptor.path()).is_some_and(|number| devices.contains(&number)) {
                let program = fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned();
                return Ok(Some(Refusal::OpenElsewhere { pid, program }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "inspect_tests.rs"]
mod tests;
