//! Incidents: what agents did that an honest one does not. One row for each node and kind, counted, so that an agent that
//! misbehaves a thousand times a second fills one row and not the store.

use model::supply::IncidentKind;
use model::{IncidentId, NodeId, Timestamp};

use crate::scope::Page;
use crate::{Row, Stamp, StoreError, Tx};

/// All incidents of one kind on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentRow {
    /// Its id.
    pub id: IncidentId,
    /// The node.
    pub node_id: NodeId,
    /// What.
    pub kind: IncidentKind,
    /// The last time in a sentence.
    pub detail: String,
    /// How often.
    pub count: i64,
    /// When first.
    pub first: Timestamp,
    /// When last.
    pub last: Timestamp,
}

macro_rules! selected {
    () => {
        "SELECT id, node_id, kind, detail, count, first_us, last_us FROM node_incidents"
    };
}

const ADD: &str = "INSERT INTO node_incidents (id, node_id, kind, detail, count, first_us, last_us) \
    VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (node_id, kind) DO UPDATE SET detail = excluded.detail, \
    count = node_incidents.count + excluded.count, \
    last_us = CASE WHEN excluded.last_us > node_incidents.last_us THEN excluded.last_us ELSE node_incidents.last_us END";
const FIND: &str = concat!(selected!(), " WHERE node_id = $1 AND kind = $2");
const LIST: &str = concat!(selected!(), " WHERE id > $1 AND node_id = $3 ORDER BY id LIMIT $2");

fn read(row: &Row) -> Result<IncidentRow, StoreError> {
    Ok(IncidentRow {
        id: row.parse(0)?,
        node_id: row.parse(1)?,
        kind: row.parse(2)?,
        detail: row.text(3)?.to_owned(),
        count: row.int(4)?,
        first: row.timestamp(5)?,
        last: row.timestamp(6)?,
    })
}

/// Adds `times` incidents of a kind. Answers what was on record before, if anything was.
pub fn add(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node_id: &NodeId,
    kind: IncidentKind,
    detail: &str,
    times: i64,
) -> Result<Option<IncidentRow>, StoreError> {
    let before = find(tx, node_id, kind)?;
    let id = IncidentId::from_parts(stamp.now, stamp.bits());
    let params =
        [id.into(), node_id.into(), kind.as_str().into(), detail.into(), times.max(1).into(), stamp.now.into()];
    tx.execute(ADD, &params)?;
    Ok(before)
}

/// What is on record of one kind.
pub fn find(tx: &mut Tx<'_>, node_id: &NodeId, kind: IncidentKind) -> Result<Option<IncidentRow>, StoreError> {
    tx.query_opt(FIND, &[node_id.into(), kind.as_str().into()])?.as_ref().map(read).transpose()
}

/// A node's incidents in id order.
pub fn list(tx: &mut Tx<'_>, node_id: &NodeId, page: Page<'_>) -> Result<Vec<IncidentRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), node_id.into()])?.iter().map(read).collect()
}
