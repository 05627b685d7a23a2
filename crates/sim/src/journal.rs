//! Journals for simulated agents, in memory or in a file: each tells the host what was written down, so that it can catch an
//! agent that acts first and writes later.

use crate::host::SimHost;
use agent::{Journal, JournalFault, MemoryJournal, Record};

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
        Record::Finished { result, .. } => host.note_answer(result),
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
    fn bytes(&self) -> u64 {
        self.journal.bytes()
    }
}

/// A journal in memory under the eyes of the host.
pub type WorldJournal = Watched<MemoryJournal>;
