//! Journals for simulated agents: one in memory that outlives a crash of the agent, one in files that outlives the process.
//! Both tell the host what was written down, so that it can catch an agent that acts first and writes later.

use crate::host::SimHost;
use agent::{Journal, JournalFault, MemoryJournal, Record};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A journal under the eyes of the host.
#[derive(Debug, Clone)]
pub struct Watched<J> {
    journal: J,
    host: SimHost,
}

impl<J: Journal> Watched<J> {
    /// Watches a journal. What it already holds counts as written.
    pub fn new(journal: J, host: SimHost) -> Result<Self, JournalFault> {
        for record in &journal.load()? {
            note(&host, record);
        }
        Ok(Self { journal, host })
    }
}

fn note(host: &SimHost, record: &Record) {
    match record {
        Record::Started { task_id, step, turn } => host.note_begun(task_id, step, *turn),
        Record::Finished { result } => host.note_answer(result),
        _ => (),
    }
}

impl<J: Journal> Journal for Watched<J> {
    fn load(&self) -> Result<Vec<Record>, JournalFault> {
        self.journal.load()
    }
    fn append(&mut self, record: &Record) -> Result<(), JournalFault> {
        self.journal.append(record)?;
        note(&self.host, record);
        Ok(())
    }
    fn rewrite(&mut self, records: &[Record]) -> Result<(), JournalFault> {
        self.journal.rewrite(records)
    }
}

/// A journal in memory under the eyes of the host.
pub type WorldJournal = Watched<MemoryJournal>;

/// A journal as lines of JSON in one file. Good enough for a simulated host: it survives the end of the process, not a power
/// cut, and a last line that was cut short by a kill is dropped.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: File,
}

impl FileJournal {
    /// Opens or creates it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let kept: String = match fs::read_to_string(path) {
            Ok(text) => whole_lines(&text).map(|line| format!("{line}\n")).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        replace(path, kept.as_bytes())?;
        Ok(Self { path: path.to_owned(), file: OpenOptions::new().append(true).open(path)? })
    }

    fn replace_all(&mut self, records: &[Record]) -> io::Result<()> {
        replace(&self.path, lines(records)?.as_bytes())?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        Ok(())
    }
}

fn lines(records: &[Record]) -> io::Result<String> {
    let mut lines = String::new();
    for record in records {
        lines.push_str(&serde_json::to_string(record)?);
        lines.push('\n');
    }
    Ok(lines)
}

fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

/// Replaces a file at once: after a kill either the old or the new one is there.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, contents)?;
    fs::rename(&beside, path)
}

fn fault(error: impl std::fmt::Display) -> JournalFault {
    JournalFault::Io(error.to_string())
}

impl Journal for FileJournal {
    fn load(&self) -> Result<Vec<Record>, JournalFault> {
        let text = fs::read_to_string(&self.path).map_err(fault)?;
        whole_lines(&text).map(|line| serde_json::from_str(line).map_err(fault)).collect()
    }
    fn append(&mut self, record: &Record) -> Result<(), JournalFault> {
        let line = lines(std::slice::from_ref(record)).map_err(fault)?;
        self.file.write_all(line.as_bytes()).map_err(fault)
    }
    fn rewrite(&mut self, records: &[Record]) -> Result<(), JournalFault> {
        self.replace_all(records).map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{NodeId, Timestamp};

    fn booted(boot: i64) -> Record {
        Record::Booted { node_id: NodeId::from_parts(Timestamp::from_micros(0), [1; 10]), boot }
    }

    #[test]
    fn a_file_keeps_whole_lines_and_drops_a_torn_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.journal");
        let mut journal = FileJournal::open(&path).unwrap();
        journal.append(&booted(1)).unwrap();
        journal.append(&booted(2)).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"record\":\"boo").unwrap();
        let mut journal = FileJournal::open(&path).unwrap();
        journal.append(&booted(3)).unwrap();
        assert_eq!(journal.load().unwrap(), [booted(1), booted(2), booted(3)]);
        journal.rewrite(&[booted(3)]).unwrap();
        journal.append(&booted(4)).unwrap();
        assert_eq!(FileJournal::open(&path).unwrap().load().unwrap(), [booted(3), booted(4)]);
    }
}
