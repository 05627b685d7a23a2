//! A store for the simulator: SQLite in memory, run on the caller's own thread behind a lock. Nothing is spawned and
//! nothing depends on time, so the same calls give the same store. At every commit a hook may crash the caller, before
//! or after the change became durable: exactly the two worlds that a failed COMMIT leaves open.

use model::Timestamp;

use crate::{
    StoreError, Tx,
    job::{Job, Verdict},
    migrate::{self, MIGRATIONS, Opening},
    sqlite::SqliteSession,
    tx::{Control, Session},
};

/// What happens to the process at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// Nothing; the change is committed and the caller hears so.
    Proceed,
    /// It dies before the change is durable: rolled back, [`StoreError::Crashed`].
    CrashBefore,
    /// It dies after the change is durable but before anybody hears so: committed, [`StoreError::Crashed`].
    CrashAfter,
    /// It lives, but the schema refuses the change at the last moment: rolled back, a [`StoreError::UniqueViolation`].
    BreaksARule,
}

/// Asked at every commit.
pub trait CommitFaults: Send {
    /// Decides the fate of the commit that is about to happen.
    fn at_commit(&mut self) -> CommitFault;
}

/// Never crashes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl CommitFaults for NoFaults {
    fn at_commit(&mut self) -> CommitFault {
        CommitFault::Proceed
    }
}

/// The connection with its hook.
pub(crate) struct Inline {
    session: SqliteSession,
    faults: Box<dyn CommitFaults>,
}

impl Inline {
    pub(crate) fn open(faults: Box<dyn CommitFaults>) -> Result<Self, StoreError> {
        let mut session = SqliteSession::open_in_memory()?;
        let opening = Opening { store_id: "inline", at: Timestamp::from_micros(0), known: MIGRATIONS };
        migrate::migrate(&mut session, &opening)?;
        Ok(Self { session, faults })
    }

    /// Opens a copy of a store. It was migrated when it was made, by this same program.
    pub(crate) fn open_image(image: &[u8], faults: Box<dyn CommitFaults>) -> Result<Self, StoreError> {
        Ok(Self { session: SqliteSession::open_image(image)?, faults })
    }

    pub(crate) fn changes(&self) -> u64 {
        self.session.changes()
    }

    pub(crate) fn image(&mut self) -> Result<Vec<u8>, StoreError> {
        self.session.image()
    }

    pub(crate) fn run<T, E, F>(&mut self, run: F, writes: bool) -> Result<T, E>
    where
        E: From<StoreError>,
        F: FnMut(&mut Tx<'_>) -> Result<T, E>,
    {
        let mut job = Job::new(run, writes, None);
        let begin = if writes { Control::BeginWrite } else { Control::BeginRead };
        self.control(begin)?;
        if job.try_once(&mut self.session, true) != Verdict::Keep {
            // Alone in memory nothing can be raced, so a second try would fail like the first.
            let _ = self.session.control(Control::Rollback);
            return job.take_result();
        }
        match self.faults.at_commit() {
            CommitFault::Proceed => {
                self.control(Control::Commit)?;
                job.take_result()
            }
            CommitFault::CrashBefore => {
                self.control(Control::Rollback)?;
                Err(StoreError::Crashed.into())
            }
            CommitFault::BreaksARule => {
                self.control(Control::Rollback)?;
                Err(StoreError::UniqueViolation { constraint: "broken_on_purpose".into() }.into())
            }
            CommitFault::CrashAfter => {
                self.control(Control::Commit)?;
                Err(StoreError::Crashed.into())
            }
        }
    }

    fn control(&mut self, word: Control) -> Result<(), StoreError> {
        self.session.control(word).map_err(|fault| fault.error)
    }
}
