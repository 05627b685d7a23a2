//! Disks: what each is recognised by, what is on it, and who uses it.
//!
//! A disk is never told by its size or by the name the kernel gave it today. Whether it is in use is read from four sides,
//! and one is enough: what is mounted, what the host swaps to, what is built on top of it, and which signatures the system
//! found on it. Things built on top of disks are followed upwards, so the two disks under a mirrored root file system are
//! both known to carry it.

use super::{
    DiskPart, DiskUsage, LabDisk, NvmeDisk, OtherDisk,
    functions::{self, Function},
    scan::Scan,
};
use crate::{
    pci::PciAddress,
    probe::{self, LabProbe},
    tree::joined,
};
use std::collections::{BTreeMap, BTreeSet};

const BLOCK: &str = "sys/block";
const CONTROLLERS: &str = "sys/class/nvme";
const SUBSYSTEMS: &str = "sys/class/nvme-subsystem";
const SECTOR_BYTES: u64 = 512;
/// More mount points than this of one disk say nothing more.
const MOUNT_POINTS_MAX: usize = 16;
/// A disk that carries one of these carries the host.
const SYSTEM_MOUNTS: &[&str] = &["/", "/boot", "/boot/efi", "/etc", "/usr", "/var"];

/// What there is of disks.
pub(super) struct Disks {
    pub(super) nvme: Vec<NvmeDisk>,
    pub(super) others: Vec<OtherDisk>,
    pub(super) lab: Vec<LabDisk>,
    /// Whether it could be seen what is mounted.
    pub(super) mounts_known: bool,
}

pub(super) fn read(
    scan: &mut Scan<'_>,
    functions: &BTreeMap<PciAddress, Function>,
    nvme_functions: &[&Function],
    told: Option<&LabProbe>,
) -> Disks {
    let used = Used::read(scan);
    let mut nvme = Vec::new();
    let mut others = Vec::new();
    for name in scan.tree.children(BLOCK) {
        if is_numbered(name, "nvme", Some('n')) {
            nvme.push(namespace(scan, functions, &used, name));
        } else if ["sd", "vd", "md", "dm-"].iter().any(|start| name.starts_with(start)) {
            others.push(other(scan, &used, name));
        }
    }
    let seen: BTreeSet<PciAddress> = nvme.iter().filter_map(|disk| disk.pci.as_ref()).map(|pci| pci.address).collect();
    let unseen = nvme_functions.iter().filter(|function| !seen.contains(&function.pci.address));
    nvme.extend(unseen.map(|function| without_namespace(function)));
    mark_shared(scan, &mut nvme);
    nvme.sort_by_cached_key(|disk| (disk.pci.as_ref().map(|pci| pci.address), disk.name.clone()));
    let lab = told.map(|told| lab_disks(scan, &used, told)).unwrap_or_default();
    Disks { nvme, others, lab, mounts_known: used.known }
}

/// The loop devices that a laboratory's agent told of, each file once and by its path.
fn lab_disks(scan: &mut Scan<'_>, used: &Used, told: &LabProbe) -> Vec<LabDisk> {
    let mut found: BTreeMap<String, LabDisk> = BTreeMap::new();
    let mut shared = BTreeSet::new();
    for told in &told.loop_devices {
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        if !is_numbered(&told.name, "loop", None) || !told.backing_file.starts_with('/') || !plain(&told.backing_file) {
            scan.note(probe::LAB, "a loop device has no plain name, or its file no plain path");
            continue;
        }
        let identity = format!("loop:{}", told.backing_file);
        let mounted = used.points(&told.name, &told.name).into_iter().map(|point| format!("mounted at {point}"));
        let swap = used.swaps.contains(&told.name).then(|| "swapped to".to_owned());
        let disk = LabDisk {
            identity: identity.clone(),
            device: format!("/dev/{}", told.name),
            backing_file: told.backing_file.clone(),
            size_bytes: told.size_bytes,
            used_for: mounted.chain(swap).take(MOUNT_POINTS_MAX).collect(),
        };
        if found.insert(identity.clone(), disk).is_some() {
            shared.insert(identity);
        }
    }
    // Two devices on one file are two ways to the same bytes; neither can be given to anybody.
    for identity in shared {
        scan.note(probe::LAB, &format!("several loop devices are on {identity}, so none is used"));
        found.remove(&identity);
    }
    found.into_values().collect()
}

/// `nvme0n1` for `nvme` and `n`; `nvme0` for `nvme` and nothing. The paths behind a disk with several, `nvme0c0n1`, are not.
fn is_numbered(name: &str, start: &str, then: Option<char>) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = name.strip_prefix(start) else { return false };
    match then {
        Some(then) => rest.split_once(then).is_some_and(|(first, second)| digits(first) && digits(second)),
        None => digits(rest),
    }
}

fn namespace(scan: &mut Scan<'_>, functions: &BTreeMap<PciAddress, Function>, used: &Used, name: &str) -> NvmeDisk {
    let path = joined(BLOCK, name);
    let controllers = controllers(scan, &path);
    let of_controller = |scan: &mut Scan<'_>, file: &str| {
        controllers.iter().find_map(|controller| scan.line(&format!("{CONTROLLERS}/{controller}/{file}")))
    };
    let function = controllers.iter().find_map(|controller| {
        let path = joined(CONTROLLERS, controller);
        let address = functions::owner(scan, &path)
            .or_else(|| scan.line(&joined(&path, "address")).and_then(|address| address.parse().ok()));
        functions.get(&address?)
    });
    if controllers.len() > 1 {
        scan.note(&path, &format!("is reached through several controllers: {}", controllers.join(", ")));
    }
    let (model, serial) = (of_controller(scan, "model"), of_controller(scan, "serial"));
    let vendor = function.and_then(|function| function.vendor);
    let usage = used.by(scan, &path, name, Level::Disk);
    let parts = parts(scan, used, &path, name);
    NvmeDisk {
        identity: identity(scan, &path, vendor, model.as_deref(), serial.as_deref()),
        identity_shared: false,
        name: Some(name.to_owned()),
        pci: function.map(|function| function.pci.clone()),
        model,
        serial,
        firmware: of_controller(scan, "firmware_rev"),
        size_bytes: size_bytes(scan, &path),
        system_disk: used.carries_system(scan.tree, name),
        usage,
        parts,
    }
}

fn without_namespace(function: &Function) -> NvmeDisk {
    NvmeDisk {
        identity: None,
        identity_shared: false,
        name: None,
        pci: Some(function.pci.clone()),
        model: None,
        serial: None,
        firmware: None,
        size_bytes: None,
        usage: DiskUsage::default(),
        parts: Vec::new(),
        system_disk: false,
    }
}

/// A disk hangs off one controller, or off a subsystem with several.
fn controllers(scan: &Scan<'_>, path: &str) -> Vec<String> {
    let place = scan.tree.resolve(path).unwrap_or_default();
    let above = place.rsplit('/').nth(1).unwrap_or_default();
    if is_numbered(above, "nvme", None) {
        return vec![above.to_owned()];
    }
    let names = scan.tree.children(&joined(SUBSYSTEMS, above));
    names.into_iter().filter(|name| is_numbered(name, "nvme", None)).map(str::to_owned).collect()
}

/// The kernel's own word for it, or the same built from what else the disk says of itself.
fn identity(
    scan: &mut Scan<'_>,
    path: &str,
    vendor: Option<u16>,
    model: Option<&str>,
    serial: Option<&str>,
) -> Option<String> {
    if let Some(wwid) = scan.line(&joined(path, "wwid")) {
        return Some(wwid);
    }
    let own = |scan: &mut Scan<'_>, file: &str| {
        let text: String = scan.line(&joined(path, file))?.split_whitespace().collect();
        let blank = text.chars().all(|c| c == '0' || c == '-');
        (!blank).then_some(text.to_ascii_lowercase())
    };
    if let Some(uuid) = own(scan, "uuid") {
        return Some(format!("uuid.{uuid}"));
    }
    if let Some(number) = own(scan, "nguid").or_else(|| own(scan, "eui")) {
        return Some(format!("eui.{}", number.replace('-', "")));
    }
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let namespace = scan.number::<u32>(&joined(path, "nsid")).unwrap_or(1);
    Some(format!("nvme.{:04x}-{}-{}-{namespace:08x}", vendor?, hex(serial?), hex(model?)))
}

fn mark_shared(scan: &mut Scan<'_>, disks: &mut [NvmeDisk]) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for identity in disks.iter().filter_map(|disk| disk.identity.clone()) {
        *count.entry(identity).or_default() += 1;
    }
    count.retain(|_, disks| *disks > 1);
    for disk in disks {
        disk.identity_shared = disk.identity.as_ref().is_some_and(|identity| count.contains_key(identity));
    }
    for (identity, disks) in count {
        scan.note(BLOCK, &format!("{disks} disks show the identity {identity}, so none of them can be told apart"));
    }
}

fn size_bytes(scan: &mut Scan<'_>, path: &str) -> Option<u64> {
    scan.number::<u64>(&joined(path, "size"))?.checked_mul(SECTOR_BYTES)
}

fn part_names<'a>(tree: &'a crate::tree::Tree, path: &str, disk: &str) -> Vec<&'a str> {
    let names = tree.children(path).into_iter();
    names.filter(|name| name.len() > disk.len() && name.starts_with(disk)).collect()
}

fn parts(scan: &mut Scan<'_>, used: &Used, path: &str, disk: &str) -> Vec<DiskPart> {
    let mut parts = Vec::new();
    for name in part_names(scan.tree, path, disk) {
        let path = joined(path, name);
        let usage = used.by(scan, &path, name, Level::Part);
        parts.push(DiskPart { name: name.to_owned(), size_bytes: size_bytes(scan, &path), usage });
    }
    parts.sort_by_key(|part| (part.name.len(), part.name.clone()));
    parts
}

fn other(scan: &mut Scan<'_>, used: &Used, name: &str) -> OtherDisk {
    let path = joined(BLOCK, name);
    let model = scan.line(&joined(&path, "device/model")).or_else(|| scan.line(&joined(&path, "dm/name")));
    let mount_points = used.mounted_on(scan.tree, name);
    OtherDisk {
        name: name.to_owned(),
        pci_address: functions::owner(scan, &path),
        model,
        size_bytes: size_bytes(scan, &path),
        mount_points: mount_points.into_iter().take(MOUNT_POINTS_MAX).collect(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Disk,
    Part,
}

/// What is mounted and swapped to, by device number and by device name.
#[derive(Default)]
struct Used {
    mounts: BTreeMap<String, BTreeSet<String>>,
    filesystems: BTreeMap<String, String>,
    swaps: BTreeSet<String>,
    known: bool,
}

impl Used {
    fn read(scan: &mut Scan<'_>) -> Self {
        let mut used = Self::default();
        for path in ["proc/1/mountinfo", "proc/self/mountinfo"] {
            let Some(text) = scan.tree.text(path) else { continue };
            used.known = true;
            for line in text.lines() {
                if used.mount(line).is_none() {
                    scan.note(path, "has a line that is not of the form of mountinfo");
                    used.known = false;
                }
            }
        }
        let swaps = scan.tree.text("proc/swaps");
        for line in swaps.unwrap_or_default().lines().skip(1) {
            let device = line.split_whitespace().next().and_then(|path| path.strip_prefix("/dev/"));
            used.swaps.extend(device.map(str::to_owned));
        }
        if swaps.is_none() {
            scan.note("proc/swaps", "is missing, so no disk counts as free");
            used.known = false;
        }
        used
    }

    /// `36 35 259:2 / /boot rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw`
    fn mount(&mut self, line: &str) -> Option<()> {
        let (place, source) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let (number, _, point) = (place.next()?, place.next()?, place.next()?);
        let mut source = source.split(' ');
        let (filesystem, device) = (source.next()?, source.next()?);
        let point: String = unescaped(point).chars().filter(|c| !c.is_control()).take(200).collect();
        // Some file systems have device numbers of their own; their source still names the disk.
        let name = device.strip_prefix("/dev/").map(str::to_owned);
        for key in std::iter::once(number.to_owned()).chain(name) {
            self.mounts.entry(key.clone()).or_default().insert(point.clone());
            self.filesystems.insert(key, filesystem.chars().take(40).collect());
        }
        Some(())
    }

    fn by(&self, scan: &mut Scan<'_>, path: &str, name: &str, level: Level) -> DiskUsage {
        let tree = scan.tree;
        let number = tree.text(&joined(path, "dev")).unwrap_or_default();
        let record = format!("run/udev/data/b{number}");
        let found = tree.text(&record).filter(|_| !number.is_empty());
        let mut property = |key: &str| {
            let value =
                found?.lines().find_map(|line| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('='))?;
            scan.printable(&record, value).filter(|value| !value.is_empty())
        };
        let filesystem = property("ID_FS_TYPE");
        // A part repeats the table of the disk that it is a part of.
        let part_table = if level == Level::Disk { property("ID_PART_TABLE_TYPE") } else { None };
        let mounted = || [number, name].iter().find_map(|key| self.filesystems.get(*key).cloned());
        let holders: Vec<String> = tree.children(&joined(path, "holders")).into_iter().map(str::to_owned).collect();
        let above: BTreeSet<String> = holders.iter().flat_map(|holder| self.mounted_on(tree, holder)).collect();
        let brief = |points: BTreeSet<String>| points.into_iter().take(MOUNT_POINTS_MAX).collect();
        DiskUsage {
            content_known: found.is_some(),
            part_table,
            filesystem: filesystem.or_else(mounted),
            mount_points: brief(self.points(number, name)),
            holder_mount_points: brief(above),
            holders,
            swap: self.swaps.contains(name),
        }
    }

    fn points(&self, number: &str, name: &str) -> BTreeSet<String> {
        [number, name].iter().filter_map(|key| self.mounts.get(*key)).flatten().cloned().collect()
    }

    /// Where a disk, its parts and everything built on top of them are mounted.
    fn mounted_on(&self, tree: &crate::tree::Tree, disk: &str) -> BTreeSet<String> {
        let mut points = BTreeSet::new();
        self.each_above(tree, disk, &mut |number, name| points.extend(self.points(number, name)));
        points
    }

    fn carries_system(&self, tree: &crate::tree::Tree, disk: &str) -> bool {
        let mut carries = false;
        self.each_above(tree, disk, &mut |number, name| {
            let points = self.points(number, name);
            carries |= self.swaps.contains(name) || points.iter().any(|point| SYSTEM_MOUNTS.contains(&point.as_str()));
        });
        carries
    }

    /// Calls with the number and name of a disk, of its parts, and of everything built on top of them.
    fn each_above(&self, tree: &crate::tree::Tree, disk: &str, call: &mut impl FnMut(&str, &str)) {
        let mut ahead = vec![disk.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(disk) = ahead.pop() {
            if !seen.insert(disk.clone()) {
                continue;
            }
            let path = joined(BLOCK, &disk);
            let parts = part_names(tree, &path, &disk);
            let places = parts.iter().map(|part| (joined(&path, part), *part));
            for (path, name) in std::iter::once((path.clone(), disk.as_str())).chain(places) {
                call(tree.text(&joined(&path, "dev")).unwrap_or_default(), name);
                ahead.extend(tree.children(&joined(&path, "holders")).into_iter().map(str::to_owned));
            }
        }
    }
}

/// Spaces and the like are written as `\040` in mountinfo.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let (letter, length) = code.map_or(('\\', 1), |code| (char::from(code), 4));
        out.push(letter);
        rest = &rest[at + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_disks_are_told_from_those_of_paths_and_controllers() {
        assert!(is_numbered("nvme0n1", "nvme", Some('n')) && is_numbered("nvme12", "nvme", None));
        for name in ["nvme0c0n1", "nvme0", "nvme0n1p1", "nvmen1"] {
            assert!(!is_numbered(name, "nvme", Some('n')), "{name}");
        }
    }

    #[test]
    fn mount_points_are_written_plainly() {
        assert_eq!(unescaped(r"/mnt/a\040b\134c"), r"/mnt/a b\c");
        assert_eq!(unescaped(r"/x\"), r"/x\");
        assert_eq!(unescaped(r"\09"), r"\09");
    }
}
