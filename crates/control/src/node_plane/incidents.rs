//! What agents did that an honest one does not, on its way to the operator. The first of a kind is written down at once; an
//! agent that goes on is counted in memory and written down once a second, so that misbehaving fast costs nobody but itself.
//! The first in a minute leaves a row in the audit trail too.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use model::{AuditId, NodeId, Timestamp, supply::IncidentKind, time::MICROS_PER_SECOND};
use store::{
    Db, Stamp, StoreError, Tx,
    audit::{self, AuditRow},
    incidents, nodes,
};

use crate::Ports;

/// Letters of a sentence that are kept.
const DETAIL_LETTERS_MAX: usize = 300;

/// Incidents of one kind on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counted {
    node: NodeId,
    kind: IncidentKind,
    detail: String,
    times: i64,
}

#[derive(Debug)]
struct Held {
    written: Timestamp,
    more: i64,
    detail: String,
}

#[derive(Debug, Default)]
pub(super) struct Incidents(Mutex<BTreeMap<(NodeId, IncidentKind), Held>>);

impl Incidents {
    /// Writes an incident down, or counts it until the next round.
    pub(super) fn note(
        &self,
        db: &Db,
        ports: &Ports,
        node: &NodeId,
        (kind, detail): (IncidentKind, &str),
        now: Timestamp,
    ) {
        tracing::warn!(alert = "node_incident", %node, %kind, detail, "an agent did what an honest one does not");
        let detail: String = detail.chars().take(DETAIL_LETTERS_MAX).collect();
        let Some(times) = self.count(node, kind, &detail, now) else { return };
        let counted = Counted { node: node.clone(), kind, detail, times };
        if let Err(error) = write(db, ports, vec![counted.clone()], now) {
            tracing::warn!(%error, %node, %kind, "an incident could not be written down yet");
            self.put_back(&counted);
        }
    }

    /// How many to write down now; none when it is too soon after the last time.
    fn count(&self, node: &NodeId, kind: IncidentKind, detail: &str, now: Timestamp) -> Option<i64> {
        let mut held = self.lock();
        let known = held.entry((node.clone(), kind)).or_insert_with(|| Held {
            written: now.plus_seconds(-2),
            more: 0,
            detail: String::new(),
        });
        detail.clone_into(&mut known.detail);
        if !rested(known.written, now) {
            known.more += 1;
            return None;
        }
        known.written = now;
        Some(std::mem::take(&mut known.more) + 1)
    }

    /// Whether some are counted that can be written down now.
    pub(super) fn due(&self, now: Timestamp) -> bool {
        self.lock().values().any(|held| held.more > 0 && rested(held.written, now))
    }

    /// Writes down what was counted since.
    pub(super) fn flush(&self, db: &Db, ports: &Ports, now: Timestamp) -> Result<(), StoreError> {
        let batch: Vec<Counted> = {
            let mut held = self.lock();
            let due = held.iter_mut().filter(|(_, held)| held.more > 0);
            due.map(|((node, kind), held)| {
                held.written = now;
                let times = std::mem::take(&mut held.more);
                Counted { node: node.clone(), kind: *kind, detail: held.detail.clone(), times }
            })
            .collect()
        };
        if batch.is_empty() {
            return Ok(());
        }
        let result = write(db, ports, batch.clone(), now);
        if result.is_err() {
            batch.iter().for_each(|counted| self.put_back(counted));
        }
        result
    }

    fn put_back(&self, counted: &Counted) {
        if let Some(held) = self.lock().get_mut(&(counted.node.clone(), counted.kind)) {
            held.more += counted.times;
        }
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(NodeId, IncidentKind), Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rested(written: Timestamp, now: Timestamp) -> bool {
    now < written || now.micros_since(written) >= MICROS_PER_SECOND
}

fn write(db: &Db, ports: &Ports, batch: Vec<Counted>, now: Timestamp) -> Result<(), StoreError> {
    let ports = ports.clone();
    db.write(move |tx| {
        let mut bits = || ports.id_bits();
        let mut stamp = Stamp::new(now, &mut bits);
        batch.iter().try_for_each(|counted| write_one(tx, &mut stamp, counted))
    })
}

fn write_one(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, counted: &Counted) -> Result<(), StoreError> {
    let Counted { node, kind, detail, times } = counted;
    if nodes::get(tx, node)?.is_none_or(|node| node.is_without_identity()) {
        // Nobody's incident: there is no such node to show it with, or its machine is a tenant's, and the agent that was on
        // it goes on for as long as it is let.
        return Ok(());
    }
    let before = incidents::add(tx, stamp, node, *kind, detail, *times)?;
    let minute = |at: Timestamp| at.as_micros().div_euclid(60 * MICROS_PER_SECOND);
    if before.is_some_and(|before| minute(before.last) == minute(stamp.now)) {
        return Ok(());
    }
    let id = AuditId::from_parts(stamp.now, stamp.bits());
    let row = AuditRow {
        request_id: id.to_string(),
        id,
        actor: format!("node:{node}"),
        token_id: None,
        action: "node_incident".to_owned(),
        subject: node.to_string(),
        tenant_id: None,
        body: serde_json::json!({ "kind": kind, "detail": detail }).to_string(),
        at: stamp.now,
    };
    audit::append(tx, &row)
}
