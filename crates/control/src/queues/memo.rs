//! A book for questions: read once, then brought up to date by what was committed, so that whoever asks how queues stand pays
//! for what changed and for nothing else. Nothing is decided on it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::Timestamp;
use store::{StoreError, Tx};

use super::{Governor, news, read, read_some};

/// The book, if somebody has asked before. Volatile.
#[derive(Debug, Default)]
pub(crate) struct BookMemo(Mutex<Option<Governor>>);

impl BookMemo {
    /// Asks the book as this transaction sees it, or newer. Others who want it wait meanwhile. Not for transactions that have
    /// changed something themselves: what they change may never be.
    pub(crate) fn ask<T>(
        &self,
        tx: &mut Tx<'_>,
        now: Timestamp,
        question: impl FnOnce(&mut Governor, &mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut kept: MutexGuard<'_, Option<Governor>> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A book that fails half-way is not kept.
        let known = match kept.take() {
            Some(known) => refreshed(tx, known, now)?,
            None => None,
        };
        let mut book = match known {
            Some(known) => known,
            None => fresh(tx, now)?,
        };
        let answer = question(&mut book, tx)?;
        *kept = Some(book);
        Ok(answer)
    }
}

fn fresh(tx: &mut Tx<'_>, now: Timestamp) -> Result<Governor, StoreError> {
    let unreadable = |why| StoreError::Corrupt { column: "governance".into(), why };
    Governor::new(read(tx, now)?, now).map_err(unreadable)
}

/// Brings a book up to date; none when all of it has to be read again.
fn refreshed(tx: &mut Tx<'_>, mut known: Governor, now: Timestamp) -> Result<Option<Governor>, StoreError> {
    let news = news(tx, known.head)?;
    if known.is_outdated(news.version, now) {
        return Ok(None);
    }
    let changed = known.changed(&news.touched);
    if !changed.is_empty() {
        known.adopt(read_some(tx, &changed)?, now);
    }
    known.head = known.head.max(news.head);
    Ok(Some(known))
}
