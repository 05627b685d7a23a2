//! The journal as one file: a line a record, each with a checksum in front.
//!
//! A record counts once its whole line is there and its checksum fits. A kill or a power cut in the middle of a write leaves
//! one torn line at the end, which is cut off when the file is opened next: nothing was done on the strength of it. Any
//! other line that does not fit is something else, a damaged disk or a hand in the file, and then the journal is refused: an
//! agent that has forgotten a fence must not act.
//!
//! A long journal is rewritten beside the old one and put in its place by a rename. The file is locked as long as it is
//! open, so that two agents never share one.

use crate::journal::{Journal, JournalFault, Record};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// What a written record survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survives {
    /// A loss of power: every write waits for the disk. What a real host needs.
    PowerLoss,
    /// The end of the process only. For simulated hosts, of which one machine runs many.
    Kill,
}

/// A journal in a file.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: File,
    bytes: u64,
    survives: Survives,
    _lock: Lock,
}

impl FileJournal {
    /// Opens or creates it, and cuts off a torn tail. Only the owner may read it.
    pub fn open(path: &Path, survives: Survives) -> Result<Self, JournalFault> {
        let lock = match Lock::take(&path.with_extension("lock")) {
            Ok(lock) => lock,
            Err(TryLockError::WouldBlock) => return Err(JournalFault::InUse(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(fault(path, error)),
        };
        let before = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
            Err(error) => return Err(fault(path, error)),
        };
        let (_, whole) = records(&before).map_err(JournalFault::Damaged)?;
        let file = private(path, OpenOptions::new().append(true).create(true)).map_err(|error| fault(path, error))?;
        let bytes = u64::try_from(whole).unwrap_or(u64::MAX);
        if whole < before.len() {
            file.set_len(bytes).map_err(|error| fault(path, error))?;
        }
        let mut journal = Self { path: path.to_owned(), file, bytes, survives, _lock: lock };
        journal.settle().map_err(|error| fault(path, error))?;
        Ok(journal)
    }

    // Makes the file and its name last.
    fn settle(&mut self) -> io::Result<()> {
        if self.survives == Survives::PowerLoss {
            self.file.sync_all()?;
            folder_sync(&self.path)?;
        }
        Ok(())
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let line = line(record)?;
        self.file.write_all(line.as_bytes())?;
        self.bytes += u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.survives == Survives::PowerLoss { self.file.sync_data() } else { Ok(()) }
    }

    fn replace(&mut self, records: &[Record]) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let lines = records.iter().map(line).collect::<io::Result<String>>()?;
        let mut file = private(&beside, OpenOptions::new().write(true).create(true).truncate(true))?;
        file.write_all(lines.as_bytes())?;
        if self.survives == Survives::PowerLoss {
            file.sync_all()?;
        }
        fs::rename(&beside, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.bytes = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        self.settle()
    }
}

impl Journal for FileJournal {
    fn load(&self) -> Result<Vec<Record>, JournalFault> {
        let bytes = fs::read(&self.path).map_err(|error| fault(&self.path, error))?;
        records(&bytes).map(|(records, _)| records).map_err(JournalFault::Damaged)
    }
    fn append(&mut self, record: &Record) -> Result<(), JournalFault> {
        self.write(record).map_err(|error| fault(&self.path, error))
    }
    fn rewrite(&mut self, records: &[Record]) -> Result<(), JournalFault> {
        self.replace(records).map_err(|error| fault(&self.path, error))
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A file that one process at a time can hold. It is let go when this is dropped, and by the kernel when the process dies.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes it, or says at once that somebody else has it.
    pub fn take(path: &Path) -> Result<Self, TryLockError> {
        let opened = private(path, OpenOptions::new().write(true).create(true).truncate(false));
        let file = opened.map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Self(file))
    }
}

impl Drop for Lock {
    // Closing is not enough: a program that is being started at this moment has a copy of the file until it runs.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Replaces a file at once: after a kill or a power cut either the old or the new one is there. Only the owner may read it.
pub fn replace_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = private(&beside, OpenOptions::new().write(true).create(true).truncate(true))?;
    file.write_all(contents)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    folder_sync(path)
}

fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).open(path)
}

fn folder_sync(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()
}

fn line(record: &Record) -> io::Result<String> {
    let text = serde_json::to_string(record)?;
    Ok(format!("{:08x} {text}\n", crc32(text.as_bytes())))
}

// The records of a file and how many of its bytes they take; or which line is damaged.
fn records(bytes: &[u8]) -> Result<(Vec<Record>, usize), usize> {
    let mut records = vec![];
    let mut whole = 0;
    let mut damaged = None;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match (record(line), damaged) {
            (Some(record), None) => {
                records.push(record);
                whole += line.len();
            }
            (None, None) => damaged = Some(index + 1),
            // Only one record is ever being written, so only the last line can be a torn one.
            (_, Some(at)) => return Err(at),
        }
    }
    Ok((records, whole))
}

fn record(line: &[u8]) -> Option<Record> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, text) = line.split_at_checked(8)?;
    let text = text.strip_prefix(' ')?;
    let fits = u32::from_str_radix(sum, 16).ok()? == crc32(text.as_bytes());
    if fits { serde_json::from_str(text).ok() } else { None }
}

fn fault(path: &Path, error: impl std::fmt::Display) -> JournalFault {
    JournalFault::Io(format!("{}: {error}", path.display()))
}

// CRC-32 as in IEEE 802.3, reflected, one table.
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[at as usize] = value;
        at += 1;
    }
    table
}

fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let step = |sum: u32, byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        TABLE[usize::from(low ^ byte)] ^ (sum >> 8)
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{NodeId, Timestamp};

    fn booted(boot: i64) -> Record {
        Record::Booted { node_id: NodeId::from_parts(Timestamp::from_micros(0), [1; 10]), boot }
    }

    fn open(path: &Path) -> Result<FileJournal, JournalFault> {
        FileJournal::open(path, Survives::PowerLoss)
    }

    fn append_raw(path: &Path, bytes: &[u8]) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn the_checksum_is_the_well_known_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn a_torn_tail_of_any_length_is_cut_off_and_writing_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let whole = line(&booted(2)).unwrap();
        for torn in 1..whole.len() {
            let _ = fs::remove_file(&path);
            let mut journal = open(&path).unwrap();
            journal.append(&booted(1)).unwrap();
            drop(journal);
            append_raw(&path, &whole.as_bytes()[..torn]);
            let mut journal = open(&path).unwrap();
            journal.append(&booted(3)).unwrap();
            assert_eq!(journal.load().unwrap(), [booted(1), booted(3)], "{torn}");
        }
    }

    #[test]
    fn a_tail_of_zeros_after_a_power_cut_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        open(&path).unwrap().append(&booted(1)).unwrap();
        append_raw(&path, &[0; 4096]);
        assert_eq!(open(&path).unwrap().load().unwrap(), [booted(1)]);
        assert_eq!(fs::metadata(&path).unwrap().len(), open(&path).unwrap().bytes());
    }

    #[test]
    fn a_line_that_was_changed_is_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = open(&path).unwrap();
        for boot in 1..=3 {
            journal.append(&booted(boot)).unwrap();
        }
        drop(journal);
        let text = fs::read_to_string(&path).unwrap().replace("\"boot\":2", "\"boot\":7");
        fs::write(&path, text).unwrap();
        assert_eq!(open(&path).unwrap_err(), JournalFault::Damaged(2));
        fs::write(&path, "not\na journal\n").unwrap();
        assert_eq!(open(&path).unwrap_err(), JournalFault::Damaged(1));
    }

    #[test]
    fn rewriting_keeps_only_the_new_list_and_counts_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = open(&path).unwrap();
        for boot in 1..=50 {
            journal.append(&booted(boot)).unwrap();
        }
        journal.rewrite(&[booted(50)]).unwrap();
        journal.append(&booted(51)).unwrap();
        assert_eq!(journal.bytes(), fs::metadata(&path).unwrap().len());
        drop(journal);
        assert_eq!(open(&path).unwrap().load().unwrap(), [booted(50), booted(51)]);
    }

    #[test]
    fn a_second_agent_on_the_same_journal_is_refused_until_the_first_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let first = open(&path).unwrap();
        assert!(matches!(open(&path), Err(JournalFault::InUse(_))));
        drop(first);
        assert!(open(&path).is_ok());
    }

    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = open(&path).unwrap();
        journal.rewrite(&[booted(1)]).unwrap();
        for name in ["journal", "journal.lock"] {
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
}
