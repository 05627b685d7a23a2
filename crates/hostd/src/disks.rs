//! The disks of the host by the identity that is written in an approval: an NVMe namespace by the name that the kernel gives no
//! other, a laboratory's loop device by the file behind it. Where a disk is today does not matter; two that show the same
//! identity are none.

use disk::{DeviceNumber, DiskIdentity, ExclusiveDisk, HostView, Refusal, identity};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What the identity of a laboratory's disk begins with.
pub const LOOP: &str = "loop:";

/// A disk as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFound {
    /// Where it is today.
    pub path: PathBuf,
    /// Its identity as approvals write it.
    pub text: String,
    /// Its identity in full.
    pub identity: DiskIdentity,
    /// Its number.
    pub number: DeviceNumber,
}

/// Why there is no disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDisk {
    /// None, or more than one, has the identity.
    #[error("one disk with the identity {identity} was expected, found {found}")]
    NotOne {
        /// Which.
        identity: String,
        /// How many, and where.
        found: String,
    },
    /// The host's disks cannot be listed.
    #[error("the host's disks cannot be listed: {0}")]
    Unreadable(String),
    /// It may not be taken.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// How approvals write the identity of a disk.
pub fn identity_text(identity: &DiskIdentity) -> String {
    match identity {
        DiskIdentity::Nvme(disk) => disk.wwid.clone(),
        DiskIdentity::Loop(disk) => {
            let file = fs::canonicalize(&disk.backing_file).unwrap_or_else(|_| PathBuf::from(&disk.backing_file));
            format!("{LOOP}{}", file.display())
        }
    }
}

/// Every disk of the host that can be told apart: NVMe namespaces and loop devices with a file.
pub fn all(view: &HostView) -> Result<Vec<DiskFound>, NoDisk> {
    let folder = view.sys.join("block");
    let unreadable = |error: std::io::Error| NoDisk::Unreadable(format!("{}: {error}", folder.display()));
    let mut found = vec![];
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = fs::read_to_string(entry.path().join("dev")).ok().and_then(|text| DeviceNumber::parse(&text));
        // A disk that says nothing about itself is no disk of a slot; whoever looks for it finds it missing.
        let Some(number) = number else { continue };
        let Ok(identity) = identity::read(view, number) else { continue };
        found.push(DiskFound { path: view.dev.join(&name), text: identity_text(&identity), identity, number });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The one disk with an identity.
pub fn with_identity<'a>(disks: &'a [DiskFound], text: &str) -> Result<&'a DiskFound, NoDisk> {
    let same: Vec<&DiskFound> = disks.iter().filter(|disk| disk.text == text).collect();
    if let [one] = same[..] {
        return Ok(one);
    }
    let paths: Vec<String> = same.iter().map(|disk| disk.path.display().to_string()).collect();
    let found = if paths.is_empty() { "none".to_owned() } else { paths.join(" and ") };
    Err(NoDisk::NotOne { identity: text.to_owned(), found })
}

/// Finds the disk with an identity and takes it.
pub fn take(view: &HostView, text: &str) -> Result<ExclusiveDisk, NoDisk> {
    let disks = all(view)?;
    let found = with_identity(&disks, text)?;
    Ok(ExclusiveDisk::open(view, &found.path, &found.identity)?)
}

/// Whether the disk at a path is the one with an identity, now.
pub fn is_still(view: &HostView, path: &Path, text: &str) -> Result<(), NoDisk> {
    let disks = all(view)?;
    let found = with_identity(&disks, text)?;
    if found.path == path {
        return Ok(());
    }
    let found = found.path.display().to_string();
    Err(NoDisk::NotOne { identity: format!("{text} at {}", path.display()), found })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    // A captured host: one loop device with a file, one without, one NVMe disk.
    fn host() -> (tempfile::TempDir, HostView) {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path().join("sys");
        let file = folder.path().join("disk.img");
        fs::write(&file, "x").unwrap();
        let put = |path: &str, text: &str| {
            let path = sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (name, number) in [("loop0", "7:0"), ("loop1", "7:1"), ("nvme0n1", "259:0"), ("vda", "254:0")] {
            put(&format!("block/{name}/dev"), number);
            put(&format!("block/{name}/size"), if name == "loop1" { "0" } else { "2048" });
            put(&format!("block/{name}/queue/logical_block_size"), "512");
            fs::create_dir_all(sys.join("dev/block")).unwrap();
            symlink(sys.join("block").join(name), sys.join("dev/block").join(number)).unwrap();
        }
        put("block/loop0/loop/backing_file", file.to_str().unwrap());
        for (name, text) in [("device/model", "M"), ("device/serial", "S"), ("wwid", "eui.0025388b1"), ("nsid", "1")] {
            put(&format!("block/nvme0n1/{name}"), text);
        }
        let view = HostView { sys, proc: folder.path().join("proc"), dev: "/dev".into() };
        (folder, view)
    }

    #[test]
    fn disks_are_found_by_what_they_are() {
        let (folder, view) = host();
        let disks = all(&view).unwrap();
        let file = fs::canonicalize(folder.path().join("disk.img")).unwrap();
        let lab = format!("loop:{}", file.display());
        assert_eq!(
            disks.iter().map(|disk| disk.text.clone()).collect::<Vec<_>>(),
            [lab.clone(), "eui.0025388b1".into()]
        );
        assert_eq!(with_identity(&disks, &lab).unwrap().path, Path::new("/dev/loop0"));
        assert_eq!(is_still(&view, Path::new("/dev/nvme0n1"), "eui.0025388b1"), Ok(()));
        let moved = is_still(&view, Path::new("/dev/nvme1n1"), "eui.0025388b1").unwrap_err();
        assert!(moved.to_string().contains("/dev/nvme1n1 was expected, found /dev/nvme0n1"), "{moved}");
    }

    #[test]
    fn none_and_two_of_an_identity_are_no_disk() {
        let (_folder, view) = host();
        let mut disks = all(&view).unwrap();
        assert!(with_identity(&disks, "eui.other").unwrap_err().to_string().ends_with("found none"));
        let twin = DiskFound { path: "/dev/nvme9n1".into(), ..disks[1].clone() };
        disks.push(twin);
        let fault = with_identity(&disks, "eui.0025388b1").unwrap_err().to_string();
        assert!(fault.ends_with("found /dev/nvme0n1 and /dev/nvme9n1"), "{fault}");
    }
}
