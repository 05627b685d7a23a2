//! Which disks may hold something of somebody: a mark for each, made before the first byte of a guest is written to it and taken
//! away once it was erased and read back. It is this process's own memory, for root alone: whatever an order says, a disk that
//! one guest had is not given to another before that. A mark that cannot be read stands.

use crate::record::{RecordFault, fault, write_whole};
use model::{AllocationId, SlotId, runtime::Refusal};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// A disk that was not read back clean since somebody had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// Which disk.
    disk: String,
    /// Who had it.
    allocation_id: AllocationId,
    /// Whether it was erased since.
    is_erased: bool,
}

/// The marks of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    folder: PathBuf,
}

impl Marks {
    /// In a folder, which is made.
    pub(crate) fn open(folder: &Path) -> Result<Self, RecordFault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| fault(folder, &error))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The mark of a disk.
    pub(crate) fn of(&self, disk: &str) -> Result<Option<Mark>, RecordFault> {
        let path = self.path(disk);
        let broken = |why: String| RecordFault { path: path.clone(), why };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault(&path, &error)),
        };
        let mark: Mark = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if mark.disk != disk {
            return Err(broken(format!("it speaks of {}", mark.disk)));
        }
        Ok(Some(mark))
    }

    /// Somebody gets the disk, unless another had it and it was not read back clean since.
    pub(crate) fn used(&self, disk: &str, by: &AllocationId) -> Result<(), RecordFault> {
        if let Some(mark) = self.of(disk)?.filter(|mark| mark.allocation_id != *by) {
            return Err(RecordFault { path: self.path(disk), why: mark.found() });
        }
        self.write(&Mark { disk: disk.to_owned(), allocation_id: by.clone(), is_erased: false })
    }

    /// The disk was erased.
    pub(crate) fn erased(&self, disk: &str) -> Result<(), RecordFault> {
        self.of(disk)?.map_or(Ok(()), |mark| self.write(&Mark { is_erased: true, ..mark }))
    }

    /// The disk was read back and holds nothing. That counts only after it was erased: not every byte of it was read.
    pub(crate) fn read_back(&self, disk: &str) -> Result<(), RecordFault> {
        let path = self.path(disk);
        match self.of(disk)? {
            None => return Ok(()),
            Some(mark) if !mark.is_erased => {
                let why = format!("the disk was not erased since {} had it", mark.allocation_id);
                return Err(RecordFault { path, why });
            }
            Some(_) => {}
        }
        let removed = fs::remove_file(&path).and_then(|()| File::open(&self.folder)?.sync_all());
        removed.map_err(|error| fault(&path, &error))
    }

    fn write(&self, mark: &Mark) -> Result<(), RecordFault> {
        write_whole(&self.folder, &self.path(&mark.disk), mark)
    }

    // Named for people: letters, digits, dots and dashes as they are, everything else by its number.
    fn path(&self, disk: &str) -> PathBuf {
        let mut name = String::new();
        for byte in disk.bytes() {
            match byte {
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'-' => name.push(char::from(byte)),
                other => name.push_str(&format!("%{other:02x}")),
            }
        }
        self.folder.join(format!("{name}.json"))
    }
}

impl Mark {
    fn found(&self) -> String {
        let erased = if self.is_erased { "was erased" } else { "was not erased" };
        format!("{} had it, and it {erased} and not read back since", self.allocation_id)
    }
}

/// What stands against giving a disk to somebody: the settings, or that another's data may be on it.
pub(crate) fn refusal(
    slot_id: &SlotId,
    disk: &str,
    by: &AllocationId,
    allowed: Option<&[String]>,
    mark: &Result<Option<Mark>, RecordFault>,
) -> Option<Refusal> {
    let refused = |check: &str, expected: &str, found: String| {
        let (check, expected) = (check.to_owned(), expected.to_owned());
        Some(Refusal { check, slot_id: Some(slot_id.clone()), expected, found })
    };
    if !is_allowed(disk, allowed) {
        return refused("disk_allowed", "one of the disks in the host's settings", disk.to_owned());
    }
    const CLEAN: &str = "a disk that was read back clean since another had it";
    match mark {
        Ok(Some(mark)) if mark.allocation_id != *by => refused("disk_clean", CLEAN, mark.found()),
        Ok(_) => None,
        Err(fault) => refused("disk_clean", CLEAN, fault.to_string()),
    }
}

/// Whether the settings leave this disk to guests: all, where they name none.
pub(crate) fn is_allowed(disk: &str, allowed: Option<&[String]>) -> bool {
    allowed.is_none_or(|allowed| allowed.iter().any(|known| known == disk))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::tests::{guest_use, slot_id};
    use std::os::unix::fs::PermissionsExt;

    const DISK: &str = "loop:/disks/1.img";

    fn marks() -> (tempfile::TempDir, Marks) {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::open(&folder.path().join("unwiped")).unwrap();
        (folder, marks)
    }

    fn refused(marks: &Marks, by: u8) -> Option<String> {
        let by = guest_use(by).allocation_id;
        refusal(&slot_id(1), DISK, &by, None, &marks.of(DISK)).map(|refusal| refusal.check)
    }

    #[test]
    fn a_disk_that_one_had_is_no_others_until_it_was_erased_and_read_back() {
        let (_folder, marks) = marks();
        let (one, two) = (guest_use(1).allocation_id, guest_use(2).allocation_id);
        assert_eq!(refused(&marks, 1), None);
        marks.used(DISK, &one).unwrap();
        marks.used(DISK, &one).unwrap();
        assert_eq!((refused(&marks, 1), refused(&marks, 2)), (None, Some("disk_clean".to_owned())));
        assert!(marks.used(DISK, &two).unwrap_err().why.contains("was not erased and not read back"));
        // Reading a part of it proves nothing before it was erased.
        assert!(marks.read_back(DISK).unwrap_err().why.contains("was not erased since"));
        marks.erased(DISK).unwrap();
        assert_eq!(refused(&marks, 2), Some("disk_clean".to_owned()));
        // Used once more, it has to be erased once more.
        marks.used(DISK, &one).unwrap();
        assert!(marks.read_back(DISK).is_err());
        marks.erased(DISK).unwrap();
        marks.read_back(DISK).unwrap();
        assert_eq!(refused(&marks, 2), None);
        marks.used(DISK, &two).unwrap();
        assert_eq!(refused(&marks, 1), Some("disk_clean".to_owned()));
        assert_eq!(marks.of("loop:/disks/2.img"), Ok(None));
    }

    #[test]
    fn a_disk_that_nobody_had_may_be_wiped_as_often_as_one_likes() {
        let (_folder, marks) = marks();
        marks.erased(DISK).unwrap();
        marks.read_back(DISK).unwrap();
        marks.read_back(DISK).unwrap();
        assert_eq!(marks.of(DISK), Ok(None));
    }

    #[test]
    fn a_mark_outlives_the_process_is_roots_and_stands_when_it_cannot_be_read() {
        let (_folder, marks) = marks();
        marks.used(DISK, &guest_use(1).allocation_id).unwrap();
        let marks = Marks::open(&marks.folder).unwrap();
        assert!(marks.of(DISK).unwrap().is_some());
        let path = marks.folder.join("loop%3a%2fdisks%2f1.img.json");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&marks.folder)), (0o600, 0o700));
        fs::write(&path, "{").unwrap();
        assert_eq!(refused(&marks, 1), Some("disk_clean".to_owned()));
        assert!(marks.used(DISK, &guest_use(1).allocation_id).is_err() && marks.read_back(DISK).is_err());
    }

    #[test]
    fn where_the_settings_name_disks_no_other_is_given_away() {
        let by = guest_use(1).allocation_id;
        let refused = |allowed: &[String]| {
            refusal(&slot_id(1), DISK, &by, Some(allowed), &Ok(None)).map(|refusal| (refusal.check, refusal.found))
        };
        assert_eq!(refused(&[DISK.to_owned()]), None);
        for other in [&[][..], &["eui.1".to_owned()][..]] {
            assert_eq!(refused(other), Some(("disk_allowed".to_owned(), DISK.to_owned())));
        }
    }
}
