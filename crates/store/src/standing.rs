//! What is known about nodes beyond their own rows, read for a whole page of them at once: the states of their slots,
//! whether their identity is revoked, how many kinds of incidents are on record.

use std::collections::BTreeMap;

use model::NodeId;
use model::supply::SlotState;

use crate::{StoreError, Tx};

/// One slot, as far as its node's standing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotStanding {
    /// Where it stands.
    pub state: SlotState,
    /// The host shows something else than what was approved.
    pub drifted: bool,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Its slots.
    pub slots: Vec<SlotStanding>,
    /// Its newest certificate is revoked.
    pub identity_revoked: bool,
    /// How many kinds of incidents are on record.
    pub incidents: i64,
}

const SLOTS: &str =
    "SELECT node_id, state, drifted FROM node_resource_slots WHERE node_id BETWEEN $1 AND $2 ORDER BY id";
const REVOKED: &str = "SELECT c.node_id FROM node_certificates c WHERE c.node_id BETWEEN $1 AND $2 \
    AND c.revoked_us IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node_certificates o WHERE o.node_id = c.node_id \
    AND o.revoked_us IS NULL AND o.created_us >= c.created_us)";
const INCIDENTS: &str = "SELECT node_id, COUNT(*) FROM node_incidents WHERE node_id BETWEEN $1 AND $2 GROUP BY node_id";

/// The standing of every node of a range of ids that has any.
pub fn between(tx: &mut Tx<'_>, first: &NodeId, last: &NodeId) -> Result<BTreeMap<NodeId, Standing>, StoreError> {
    let mut all: BTreeMap<NodeId, Standing> = BTreeMap::new();
    let range = [first.into(), last.into()];
    for row in &tx.query(SLOTS, &range)? {
        let slot = SlotStanding { state: row.parse(1)?, drifted: row.flag(2)? };
        all.entry(row.parse(0)?).or_default().slots.push(slot);
    }
    for row in &tx.query(REVOKED, &range)? {
        all.entry(row.parse(0)?).or_default().identity_revoked = true;
    }
    for row in &tx.query(INCIDENTS, &range)? {
        all.entry(row.parse(0)?).or_default().incidents = row.int(1)?;
    }
    Ok(all)
}

/// The standing of one node.
pub fn of(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Standing, StoreError> {
    Ok(between(tx, node_id, node_id)?.remove(node_id).unwrap_or_default())
}
