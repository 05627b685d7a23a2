//! What a host shows now that is not as it was approved, field by field, with when it was first and last seen. A drift that
//! a later discovery no longer shows is forgotten; one that comes back begins anew.

use std::collections::{BTreeMap, BTreeSet};

use model::{NodeId, SlotId, Timestamp};

use crate::{Row, StoreError, Tx};

/// One field of one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftRow {
    /// The slot.
    pub slot_id: SlotId,
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
        "SELECT d.slot_id, d.field, d.kind, d.approved, d.seen, d.detail, d.first_us, d.last_us FROM slot_drifts d"
    };
}
const OF_SLOT: &str = concat!(selected!(), " WHERE d.slot_id = $1 ORDER BY d.field, d.kind");
const OF_NODE: &str = concat!(
    selected!(),
    " JOIN node_resource_slots s ON s.id = d.slot_id WHERE s.node_id = $1 ORDER BY d.slot_id, d.field, d.kind"
);
const CLEAR: &str = "DELETE FROM slot_drifts WHERE slot_id = $1";
const INSERT: &str = "INSERT INTO slot_drifts (slot_id, field, kind, approved, seen, detail, first_us, last_us) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

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

/// Writes down what is drifted on a slot now, in place of what was. Whatever was there before keeps when it was first
/// seen. A field that drifts twice in the same way is written once.
pub fn replace(tx: &mut Tx<'_>, slot_id: &SlotId, seen: &[DriftSeen], now: Timestamp) -> Result<(), StoreError> {
    let before: BTreeMap<(String, String), Timestamp> =
        of_slot(tx, slot_id)?.into_iter().map(|row| ((row.field, row.kind), row.first)).collect();
    if before.is_empty() && seen.is_empty() {
        return Ok(());
    }
    tx.execute(CLEAR, &[slot_id.into()])?;
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
        ];
        tx.execute(INSERT, &params)?;
    }
    Ok(())
}
