//! Puts the files of a seed on a disk image that cloud-init knows by its volume id, `cidata`. `genisoimage` makes it, from
//! a folder that only the caller can read and that is gone afterwards; the image appears under its name in one step, for
//! its owner alone. Dates are cut out, so the same seed gives the same bytes and a second writing can be told from another
//! guest's.

use super::SeedFile;
use command::Program;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, DirBuilder, File, FileTimes, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

const SECTOR: usize = 2048;
// ECMA-119, 8.4: where a volume descriptor keeps its four dates, and where directory records keep theirs (9.1.5).
const DESCRIPTOR_DATES: std::ops::Range<usize> = 813..881;
const NO_DATE: &[u8; 17] = b"0000000000000000\0";

/// Why there is no seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IsoFault {
    /// `genisoimage` is missing or failed.
    #[error("the seed could not be made: {0}")]
    Program(#[from] command::Fault),
    /// A file or folder could not be written.
    #[error("the seed could not be written at {path}: {why}")]
    Files {
        /// Where.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// What was made is no such image.
    #[error("the seed that was made is no ISO 9660 image named cidata: {0}")]
    Shape(&'static str),
}

/// Makes seeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IsoWriter {
    /// Where `genisoimage` is.
    pub genisoimage: PathBuf,
}

impl Default for IsoWriter {
    fn default() -> Self {
        Self { genisoimage: "/usr/bin/genisoimage".into() }
    }
}

impl IsoWriter {
    /// Writes a seed to `path`. Twice is the same as once; a reader sees all of it or nothing.
    pub fn write(&self, files: &[SeedFile], path: &Path) -> Result<(), IsoFault> {
        let beside = Beside::new(path)?;
        for file in files {
            beside.put(file)?;
        }
        let made = beside.image();
        Program::at(&self.genisoimage)
            .args(["-quiet", "-input-charset", "utf-8", "-volid", "cidata", "-joliet", "-output"])
            .arg(&made)
            .arg(beside.files())
            .within(Duration::from_secs(30))
            .run()?;
        let mut bytes = fs::read(&made).map_err(|error| files_fault(&made, &error))?;
        cut_dates(&mut bytes).map_err(IsoFault::Shape)?;
        let clean = beside.0.join("clean.iso");
        write_new(&clean, &bytes)?;
        fs::rename(&clean, path).map_err(|error| files_fault(path, &error))?;
        sync_folder(path)
    }

    /// Takes a seed away, and what is left of one that was never finished. One that is not there is gone already.
    pub fn remove(&self, path: &Path) -> Result<(), IsoFault> {
        clear(&Beside::folder(path))?;
        match fs::remove_file(path) {
            Ok(()) => sync_folder(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(files_fault(path, &error)),
        }
    }
}

fn files_fault(path: &Path, error: &io::Error) -> IsoFault {
    IsoFault::Files { path: path.to_owned(), why: error.to_string() }
}

fn sync_folder(path: &Path) -> Result<(), IsoFault> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| files_fault(folder, &error))
}

fn clear(folder: &Path) -> Result<(), IsoFault> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(files_fault(folder, &error)),
        _ => Ok(()),
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), IsoFault> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(bytes)?;
        file.set_times(FileTimes::new().set_accessed(UNIX_EPOCH).set_modified(UNIX_EPOCH))?;
        file.sync_all()
    };
    write().map_err(|error| files_fault(path, &error))
}

// A folder beside the seed, so that the last step is a rename; gone when this is dropped, whatever happened.
struct Beside(PathBuf);

impl Beside {
    // One name for each seed, so that what a process left when it died is found and cleared: it holds a private key.
    fn folder(path: &Path) -> PathBuf {
        path.with_file_name(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()))
    }

    fn new(path: &Path) -> Result<Self, IsoFault> {
        let folder = Self::folder(path);
        clear(&folder)?;
        let make = |at: &Path| DirBuilder::new().mode(0o700).create(at).map_err(|error| files_fault(at, &error));
        make(&folder)?;
        let beside = Self(folder);
        make(&beside.files())?;
        Ok(beside)
    }

    fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    fn image(&self) -> PathBuf {
        self.0.join("made.iso")
    }

    fn put(&self, file: &SeedFile) -> Result<(), IsoFault> {
        write_new(&self.files().join(file.name), &file.bytes)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

// Every date in the volume descriptors and in the records of their root folders. A seed has no other folders.
fn cut_dates(image: &mut [u8]) -> Result<(), &'static str> {
    let mut volumes = 0;
    for sector in 16.. {
        let at = sector * SECTOR;
        let descriptor = image.get_mut(at..at + SECTOR).ok_or("it ends before its descriptors do")?;
        if &descriptor[1..6] != b"CD001" {
            return Err("a descriptor is not one");
        }
        match descriptor[0] {
            255 => break,
            1 | 2 => {}
            _ => return Err("a descriptor is of another kind"),
        }
        let name_ok = descriptor[40..46] == *b"cidata" || descriptor[40..52] == *b"\0c\0i\0d\0a\0t\0a";
        if !name_ok {
            return Err("it has another name");
        }
        for date in descriptor[DESCRIPTOR_DATES].chunks_exact_mut(17) {
            date.copy_from_slice(NO_DATE);
        }
        descriptor[156 + 18..156 + 25].fill(0);
        let number =
            |at: usize| descriptor[at..at + 4].iter().rev().fold(0, |sum, byte| sum * 256 + usize::from(*byte));
        let (start, length) = (number(156 + 2) * SECTOR, number(156 + 10));
        let folder = image.get_mut(start..start.saturating_add(length)).ok_or("its root folder is outside")?;
        cut_record_dates(folder)?;
        volumes += 1;
    }
    if volumes == 2 { Ok(()) } else { Err("it has not both kinds of names") }
}

fn cut_record_dates(folder: &mut [u8]) -> Result<(), &'static str> {
    let mut at = 0;
    while at < folder.len() {
        match usize::from(folder[at]) {
            // The rest of a sector is empty.
            0 => at = (at / SECTOR + 1) * SECTOR,
            length @ 34.. if at + length <= folder.len() => {
                folder[at + 18..at + 25].fill(0);
                at += length;
            }
            _ => return Err("a record of its root folder is broken"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_is_refused_and_never_read_beyond() {
        for bytes in [vec![], vec![0; 40 * SECTOR], vec![255; 17 * SECTOR]] {
            assert!(cut_dates(&mut bytes.clone()).is_err());
        }
        let mut image = vec![0; 20 * SECTOR];
        for (sector, kind) in [(16, 1), (17, 255)] {
            image[sector * SECTOR] = kind;
            image[sector * SECTOR + 1..sector * SECTOR + 6].copy_from_slice(b"CD001");
        }
        image[16 * SECTOR + 40..16 * SECTOR + 46].copy_from_slice(b"cidata");
        image[16 * SECTOR + 158..16 * SECTOR + 162].fill(255);
        assert_eq!(cut_dates(&mut image), Err("its root folder is outside"));
    }

    #[test]
    fn a_seed_that_is_not_there_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".none.iso.new/files")).unwrap();
        IsoWriter::default().remove(&folder.path().join("none.iso")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_program_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let writer = IsoWriter { genisoimage: "/nonexistent/genisoimage".into() };
        let files = [SeedFile { name: "user-data", bytes: vec![1] }];
        assert!(matches!(writer.write(&files, &folder.path().join("a.iso")), Err(IsoFault::Program(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
