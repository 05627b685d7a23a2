//! The right to commit as leader, in the hand of one step. Every transaction made through it checks the leader's epoch
//! first, so that a replica which was overtaken while it thought commits nothing at all.

use model::Timestamp;
use store::{Db, LeaderGuard, Stamp, StoreError, Tx};

use crate::{Ports, plane::PlaneConfig};

/// What a leader acts with during one step.
#[derive(Debug, Clone)]
pub(crate) struct Leader {
    pub(crate) db: Db,
    pub(crate) ports: Ports,
    pub(crate) guard: LeaderGuard,
    pub(crate) now: Timestamp,
    pub(crate) config: PlaneConfig,
}

impl Leader {
    /// Runs a closure in a write transaction that only a leader may make.
    pub(crate) fn commit<T: Send + 'static>(
        &self,
        mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (guard, ports, now) = (self.guard.clone(), self.ports.clone(), self.now);
        self.db.write(move |tx| {
            guard.check(tx)?;
            let mut bits = || ports.id_bits();
            run(tx, &mut Stamp::new(now, &mut bits))
        })
    }

    /// Runs a closure on one consistent snapshot.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.db.read(run)
    }
}

/// A row that must still be exactly as it was seen; otherwise somebody was quicker.
pub(crate) fn unchanged<T>(found: Option<T>, version: impl Fn(&T) -> i64, seen: i64) -> Result<T, StoreError> {
    found.filter(|row| version(row) == seen).ok_or(StoreError::StaleVersion)
}
