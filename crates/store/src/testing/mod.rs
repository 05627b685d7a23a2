//! For tests, here and in the crates above: a temporary PostgreSQL cluster, a runner that gives the same test both
//! engines, and a switch that makes COMMIT fail. Not part of a product build (feature `testing`).

mod bare;
mod cluster;

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

pub use bare::{BarePostgres, BareSqlite, PlacedRows, placed_rows, undo_placements};
pub use cluster::PostgresCluster;

use crate::{Db, DbConfig, Dialect};

/// How the next COMMIT of an embedded store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFailure {
    /// The engine refuses and rolls back.
    Refused = 1,
    /// The change becomes durable, but the answer is an error.
    AnswerLost = 2,
}

/// A switch on one SQLite connection.
#[derive(Debug, Default)]
pub struct Sabotage {
    next: AtomicU8,
}

impl Sabotage {
    /// Makes the next COMMIT fail.
    pub fn fail_next_commit(&self, how: CommitFailure) {
        self.next.store(how as u8, Ordering::SeqCst);
    }

    pub(crate) fn install(mut connection: rusqlite::Connection) -> rusqlite::Result<(rusqlite::Connection, Arc<Self>)> {
        let switch = Arc::new(Self::default());
        let seen = Arc::clone(&switch);
        connection.commit_hook(Some(move || seen.strike(CommitFailure::Refused)))?;
        Ok((connection, switch))
    }

    pub(crate) fn loses_answer(&self) -> bool {
        self.strike(CommitFailure::AnswerLost)
    }

    fn strike(&self, how: CommitFailure) -> bool {
        self.next.compare_exchange(how as u8, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// A new, empty place for a store, removed when dropped.
#[derive(Debug)]
pub struct Place {
    url: String,
    _directory: Option<tempfile::TempDir>,
}

impl Place {
    /// A place for one engine: a file in a temporary directory, or a database in the shared temporary cluster.
    ///
    /// # Panics
    /// When the place cannot be made; on PostgreSQL also when no server is installed.
    pub fn new(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Sqlite => {
                let directory = tempfile::tempdir().expect("a temporary directory");
                Self {
                    url: format!("sqlite:{}", directory.path().join("store.db").display()),
                    _directory: Some(directory),
                }
            }
            Dialect::Postgres => Self { url: PostgresCluster::shared().fresh_database(), _directory: None },
        }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Settings for it, with few connections.
    pub fn config(&self) -> DbConfig {
        DbConfig { readers: 2, writers: 4, ..DbConfig::new(&self.url) }
    }

    /// Opens a store in it.
    ///
    /// # Panics
    /// When the store does not open.
    pub fn open(&self) -> Db {
        Db::open(&self.config()).expect("a store in a fresh place")
    }
}

/// Runs a test on a fresh SQLite file and on a fresh PostgreSQL database.
pub fn both_engines(mut test: impl FnMut(Db)) {
    both_places(|place| test(place.open()));
}

/// Like [`both_engines`] for tests that open the store themselves.
pub fn both_places(mut test: impl FnMut(&Place)) {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        test(&Place::new(dialect));
    }
}
