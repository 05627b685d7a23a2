//! What a host shows now that is not as it was approved, field by field, with when it was first and last seen, and whose word
//! it is. A drift that a later word of the same kind no longer has is forgotten; one that comes back begins anew.

use std::collections::{BTreeMap, BTreeSet};

use model::supply::SaidBy;
use model::{NodeId, SlotId, Timestamp};

use crate::{Row, StoreError, Tx};

/// One field of one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftRow {
    /// The slot.
    pub slot_id: SlotId,
    /// Whose word it is.
    pub said_by: SaidBy,
    /// Which field.
    pub field: String,
    /// What happened to it, in a word.
    pub kind: String,
    /// As approved.
    pub approved: String,
    /// As the host shows it now.
    pub seen: String,
    /// The same in a sentence.
    pub detail: String,
    /// When it was first seen.
    pub first: Timestamp,
    /// When it was last seen.
    pub last: Timestamp,
}

/// A drift that was just seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftSeen {
    /// Which field.
    pub field: String,
    /// What happened to it, in a word.
    pub kind: String,
    /// As approved.
    pub approved: String,
    /// As the host shows it now.
    pub seen: String,
    /// The same in a sentence.
    pub detail: String,
}

macro_rules! selected {
    () => {
        "SELECT d.slot_id, d.field, d.kind, d.approved, d.seen, d.detail, d.first_us, d.last_us, d.said_by \
         FROM slot_drifts d"
    };
}
const OF_SLOT: &str = concat!(selected!(), " WHERE d.slot_id = $1 ORDER BY d.field, d.kind, d.said_by");
const OF_NODE: &str = concat!(
    selected!(),
    " JOIN node_resource_slots s ON s.id = d.slot_id WHERE s.node_id = $1 ORDER BY d.slot_id, d.field, d.kind, d.said_by"
);
const CLEAR: &str = "DELETE FROM slot_drifts WHERE slot_id = $1 AND said_by = $2";
const INSERT: &str = "INSERT INTO slot_drifts (slot_id, field, kind, approved, seen, detail, first_us, last_us, \
    said_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

fn read(row: &Row) -> Result<DriftRow, StoreError> {
    Ok(DriftRow {
        slot_id: row.parse(0)?,
        field: row.text(1)?.to_owned(),
        kind: row.text(2)?.to_owned(),
        approved: row.text(3)?.to_owned(),
        seen: row.text(4)?.to_owned(),
        detail: row.text(5)?.to_owned(),
        first: row.timestamp(6)?,
        last: row.timestamp(7)?,
        said_by: row.parse(8)?,
    })
}

/// What has drifted on one slot.
pub fn of_slot(tx: &mut Tx<'_>, slot_id: &SlotId) -> Result<Vec<DriftRow>, StoreError> {
    tx.query(OF_SLOT, &[slot_id.into()])?.iter().map(read).collect()
}

/// What has drifted on the slots of a node.
pub fn of_node(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<BTreeMap<SlotId, Vec<DriftRow>>, StoreError> {
    let mut by_slot: BTreeMap<SlotId, Vec<DriftRow>> = BTreeMap::new();
    for row in &tx.query(OF_NODE, &[node_id.into()])? {
        let drift = read(row)?;
        by_slot.entry(drift.slot_id.clone()).or_default().push(drift);
    }
    Ok(by_slot)
}

/// Writes down what is drifted on a slot now, in place of what was said before by the same. Whatever was there before keeps
/// when it was first seen. A field that drifts twice in the same way is written once. Answers whether anything is drifted,
/// whoever says so.
pub fn replace(
    tx: &mut Tx<'_>,
    slot_id: &SlotId,
    said_by: SaidBy,
    seen: &[DriftSeen],
    now: Timestamp,
) -> Result<bool, StoreError> {
    let (own, others): (Vec<_>, Vec<_>) = of_slot(tx, slot_id)?.into_iter().partition(|row| row.said_by == said_by);
    let drifted = !seen.is_empty() || !others.is_empty();
    if own.is_empty() && seen.is_empty() {
        return Ok(drifted);
    }
    let before: BTreeMap<(String, String), Timestamp> =
        own.into_iter().map(|row| ((row.field, row.kind), row.first)).collect();
    tx.execute(CLEAR, &[slot_id.into(), said_by.as_str().into()])?;
    let mut written = BTreeSet::new();
    for drift in seen {
        let key = (drift.field.clone(), drift.kind.clone());
        if !written.insert(key.clone()) {
            continue;
        }
        let first = before.get(&key).copied().unwrap_or(now);
        let params = [
            slot_id.into(),
            drift.field.as_str().into(),
            drift.kind.as_str().into(),
            drift.approved.as_str().into(),
            drift.seen.as_str().into(),
            drift.detail.as_str().into(),
            first.into(),
            now.into(),
            said_by.as_str().into(),
        ];
        tx.execute(INSERT, &params)?;
    }
    Ok(drifted)
}
