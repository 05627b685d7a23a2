//! Heartbeats on their way to the store. They arrive often and mean little one by one, so they are collected here and written
//! in batches; what is lost in a crash is said again within seconds.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use model::{NodeId, Timestamp, time::MICROS_PER_SECOND};
use store::{Db, StoreError, nodes};

/// A node that was not written down for this long is written down at once, not with the next batch.
const URGENT_S: i64 = 15;

#[derive(Debug, Default)]
pub(super) struct Beats(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    fresh: BTreeMap<NodeId, Timestamp>,
    written: BTreeMap<NodeId, Timestamp>,
    flushed: Option<Timestamp>,
    urgent: bool,
}

impl Beats {
    /// Notes that a node was heard of. True when that should be written down soon.
    pub(super) fn heard(&self, node: &NodeId, now: Timestamp) -> bool {
        let mut beats = self.lock();
        let stale = beats.written.get(node).is_none_or(|at| now.micros_since(*at) >= URGENT_S * MICROS_PER_SECOND);
        match beats.fresh.get_mut(node) {
            Some(at) => *at = now,
            None => {
                beats.fresh.insert(node.clone(), now);
            }
        }
        let news = stale && !beats.urgent;
        beats.urgent |= stale;
        news
    }

    /// Whether they should be written down now.
    pub(super) fn due(&self, now: Timestamp, every_s: i64) -> bool {
        let beats = self.lock();
        let waited = beats.flushed.is_none_or(|at| now < at || now.micros_since(at) >= every_s * MICROS_PER_SECOND);
        !beats.fresh.is_empty() && (beats.urgent || waited)
    }

    /// Writes them down. Not a leader's commit: a node may be heard by any replica.
    pub(super) fn flush(&self, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        let batch: Vec<(NodeId, Timestamp)> = {
            let mut beats = self.lock();
            (beats.urgent, beats.flushed) = (false, Some(now));
            std::mem::take(&mut beats.fresh).into_iter().collect()
        };
        let written = batch.clone();
        let result = db.write(move |tx| nodes::heartbeats_flush(tx, &batch, now, lifecycle::node::LEASE_S));
        let mut beats = self.lock();
        for (node, at) in written {
            // What could not be written is kept, unless something newer has come.
            let kept = if result.is_ok() { &mut beats.written } else { &mut beats.fresh };
            let known = kept.entry(node).or_insert(at);
            *known = at.max(*known);
        }
        result.map(|_| ())
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
