//! Claims: the durable exclusive right of an allocation to slots or to a whole node; the truth of placement.
//!
//! The schema is the last line: one active claim a slot, one exclusive claim a node, and every active claim refers to
//! (node, its mode) in `node_occupancy`, so slices and bare metal exclude each other. This file keeps the mode in step:
//! it moves a free node to `sliced` or `exclusive` before the first claim and back to `free` after the last one ended,
//! both under the lock of the occupancy row. A claim never ends before it began and never begins before the last one on
//! its slot ended, whatever the clocks of two leaders say.

use std::collections::BTreeMap;

use model::claim::ClaimKind;
use model::supply::OccupancyMode;
use model::{AllocationId, ClaimId, NodeId, SlotId, Timestamp};

use crate::scope::Page;
use crate::value::keys;
use crate::{Batch, BulkInsert, Kind, Row, StoreError, Tx};

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRow {
    /// Its id.
    pub id: ClaimId,
    /// Who holds it.
    pub allocation_id: AllocationId,
    /// On which node.
    pub node_id: NodeId,
    /// On which slot; `None` for the whole node.
    pub slot_id: Option<SlotId>,
    /// What it covers.
    pub kind: ClaimKind,
    /// Whether it holds now.
    pub active: bool,
    /// The use generation of the slot or node that it began.
    pub fence: i64,
    /// When it began.
    pub claimed: Timestamp,
    /// When it ended.
    pub released: Option<Timestamp>,
    /// What was sold, as JSON; never changes.
    pub snapshot: String,
}

/// A claim on one slot to record.
#[derive(Debug, Clone)]
pub struct SlotClaim {
    /// Its id.
    pub id: ClaimId,
    /// On which slot.
    pub slot_id: SlotId,
    /// The use generation that `slots::reserve_all` began.
    pub fence: i64,
    /// What is sold, as JSON.
    pub snapshot: String,
}

/// A claim on a whole node to record.
#[derive(Debug, Clone)]
pub struct NodeClaim {
    /// Its id.
    pub id: ClaimId,
    /// The use generation that `nodes::raise_generation` began.
    pub fence: i64,
    /// What is sold, as JSON.
    pub snapshot: String,
}

macro_rules! selected {
    () => {
        "SELECT c.id, c.allocation_id, c.node_id, c.slot_id, c.kind, c.active_mode, c.fence, c.claimed_us, \
         c.released_us, c.snapshot FROM allocation_resource_claims c"
    };
}

static INSERTS: BulkInsert = BulkInsert {
    table: "allocation_resource_claims",
    columns: &[
        ("id", Kind::Text),
        ("allocation_id", Kind::Text),
        ("node_id", Kind::Text),
        ("slot_id", Kind::Text),
        ("kind", Kind::Text),
        ("active_mode", Kind::Text),
        ("fence", Kind::Int),
        ("claimed_us", Kind::Int),
        ("snapshot", Kind::Text),
    ],
};
const OF_ALLOCATION: &str = concat!(selected!(), " WHERE c.allocation_id = $1 ORDER BY c.id");
const OF_SLOT: &str = concat!(selected!(), " WHERE c.slot_id = $1 ORDER BY c.fence DESC LIMIT $2");
const LAST_EXCLUSIVE: &str =
    concat!(selected!(), " WHERE c.node_id = $1 AND c.kind = 'node_exclusive' ORDER BY c.fence DESC LIMIT 1");
// The slots of a guest in the order in which orders name them: hosts know a guest by its first slot.
const ACTIVE_ON_NODE: &str =
    concat!(selected!(), " WHERE c.node_id = $1 AND c.active_mode IN ('sliced', 'exclusive') ORDER BY c.slot_id, c.id");
const ON_NODE: &str = concat!(selected!(), " WHERE c.node_id = $3 AND c.id > $1 ORDER BY c.id LIMIT $2");
const OCCUPANCY_BETWEEN: &str = "SELECT node_id, mode FROM node_occupancy WHERE node_id BETWEEN $1 AND $2";
const OCCUPANCY: &str = "SELECT mode FROM node_occupancy WHERE node_id = $1";
const TAKE_SLICED: &str = "UPDATE node_occupancy SET mode = 'sliced' WHERE node_id = $1 AND mode IN ('free', 'sliced')";
const TAKE_EXCLUSIVE: &str = "UPDATE node_occupancy SET mode = 'exclusive' WHERE node_id = $1 AND mode = 'free'";
const HELD_NODES: &str = "SELECT DISTINCT node_id FROM allocation_resource_claims \
    WHERE allocation_id = $1 AND active_mode IS NOT NULL ORDER BY node_id";
const LOCK_OCCUPANCY: &str = "UPDATE node_occupancy SET mode = mode WHERE node_id = $1";
const FREE: &str = "UPDATE node_occupancy SET mode = 'free' WHERE node_id = $1 AND mode <> 'free' \
    AND NOT EXISTS (SELECT 1 FROM allocation_resource_claims c WHERE c.node_id = $1 \
    AND c.active_mode IN ('sliced', 'exclusive'))";
// A claim on the whole node was one on each of its slots. Two questions, each served by its own index.
const LAST_END_OF_SLOTS: &str = "SELECT MAX(ended_us) FROM (SELECT MAX(released_us) AS ended_us \
    FROM allocation_resource_claims WHERE slot_id IN (SELECT chosen.key FROM json_each(json(CAST($1 AS TEXT))) AS chosen) \
    UNION ALL SELECT MAX(released_us) FROM allocation_resource_claims \
    WHERE node_id = $2 AND kind = 'node_exclusive') AS ends";
const LAST_END_ON_NODE: &str = "SELECT MAX(released_us) FROM allocation_resource_claims WHERE node_id = $1";
const END: &str = "UPDATE allocation_resource_claims SET active_mode = NULL, released_us = CASE WHEN claimed_us > $2 \
    THEN claimed_us ELSE $2 END WHERE allocation_id = $1 AND active_mode IS NOT NULL";
const END_BEFORE_START: &str = "UPDATE allocation_resource_claims SET active_mode = NULL, \
    released_us = CASE WHEN claimed_us > $2 THEN $2 ELSE claimed_us END - 1 WHERE allocation_id = $1 AND active_mode IS NOT NULL";

fn read(row: &Row) -> Result<ClaimRow, StoreError> {
    Ok(ClaimRow {
        id: row.parse(0)?,
        allocation_id: row.parse(1)?,
        node_id: row.parse(2)?,
        slot_id: row.opt_parse(3)?,
        kind: row.parse(4)?,
        active: row.opt_text(5)?.is_some(),
        fence: row.int(6)?,
        claimed: row.timestamp(7)?,
        released: row.opt_timestamp(8)?,
        snapshot: row.text(9)?.to_owned(),
    })
}

/// Claims slots of one node. False, and nothing written, when the node is held exclusively. The slots must have been
/// reserved in the same transaction; a second active claim on one is a `UniqueViolation`.
pub fn take_slots(
    tx: &mut Tx<'_>,
    allocation_id: &AllocationId,
    node_id: &NodeId,
    claims: &[SlotClaim],
    now: Timestamp,
) -> Result<bool, StoreError> {
    let taken = tx.execute(TAKE_SLICED, &[node_id.into()])? == 1;
    if !taken && !model::planted!(SliceBesideBareMetal) {
        return Ok(false);
    }
    let slots = keys(claims.iter().map(|claim| claim.slot_id.as_str()));
    let last_end = tx.query_one(LAST_END_OF_SLOTS, &[slots, node_id.into()])?;
    let claimed = last_end.opt_timestamp(0)?.map_or(now, |end| end.max(now));
    let new = |claim: &SlotClaim| ClaimNew {
        id: claim.id.clone(),
        allocation_id: allocation_id.clone(),
        node_id: node_id.clone(),
        slot_id: Some(claim.slot_id.clone()),
        fence: claim.fence,
        claimed,
        snapshot: claim.snapshot.clone(),
    };
    insert_all(tx, &claims.iter().map(new).collect::<Vec<_>>())?;
    Ok(true)
}

/// Claims a whole node. False, and nothing written, when the node is not free.
pub fn take_node(
    tx: &mut Tx<'_>,
    allocation_id: &AllocationId,
    node_id: &NodeId,
    claim: &NodeClaim,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let taken = tx.execute(TAKE_EXCLUSIVE, &[node_id.into()])? == 1;
    if !taken && !model::planted!(SliceBesideBareMetal) {
        return Ok(false);
    }
    let last_end = tx.query_one(LAST_END_ON_NODE, &[node_id.into()])?;
    let claimed = last_end.opt_timestamp(0)?.map_or(now, |end| end.max(now));
    let new = ClaimNew {
        id: claim.id.clone(),
        allocation_id: allocation_id.clone(),
        node_id: node_id.clone(),
        slot_id: None,
        fence: claim.fence,
        claimed,
        snapshot: claim.snapshot.clone(),
    };
    insert_all(tx, &[new])?;
    Ok(true)
}

/// A claim to record, in a batch of many.
#[derive(Debug, Clone)]
pub struct ClaimNew {
    /// Its id.
    pub id: ClaimId,
    /// Who gets it.
    pub allocation_id: AllocationId,
    /// On which node.
    pub node_id: NodeId,
    /// On which slot; `None` for the whole node.
    pub slot_id: Option<SlotId>,
    /// The use generation of the slot or node that it begins.
    pub fence: i64,
    /// When it begins: not before the last claim on the same slot, or on anything of the node, ended.
    pub claimed: Timestamp,
    /// What is sold, as JSON.
    pub snapshot: String,
}

/// Records claims of many allocations. The slots must have been reserved and the nodes occupied in the same transaction; a
/// second active claim on a slot is a `UniqueViolation`, one on a node that carries another kind a `ForeignKeyViolation`.
pub fn insert_all(tx: &mut Tx<'_>, claims: &[ClaimNew]) -> Result<(), StoreError> {
    let mut rows = Batch::insert(&INSERTS);
    let mut before = None;
    for claim in claims {
        let first = before.replace(&claim.allocation_id) != Some(&claim.allocation_id);
        if first && claim.slot_id.is_some() && model::planted!(OneClaimTooFew) {
            continue;
        }
        let (kind, mode) = match claim.slot_id {
            Some(_) => (ClaimKind::Slot, OccupancyMode::Sliced),
            None => (ClaimKind::NodeExclusive, OccupancyMode::Exclusive),
        };
        rows.push([
            (&claim.id).into(),
            (&claim.allocation_id).into(),
            (&claim.node_id).into(),
            claim.slot_id.as_ref().into(),
            kind.as_str().into(),
            mode.as_str().into(),
            claim.fence.into(),
            claim.claimed.into(),
            claim.snapshot.as_str().into(),
        ]);
    }
    tx.post_bulk(&rows)
}

/// Ends every active claim of an allocation, and frees each node on which no active claim is left. Says how many ended.
pub fn end_of_allocation(tx: &mut Tx<'_>, id: &AllocationId, now: Timestamp) -> Result<u64, StoreError> {
    if model::planted!(ClaimOutlivesAllocation) {
        return Ok(0);
    }
    // The occupancy rows are locked before the claims are counted: of two last claims, one sees the other ended.
    let nodes = tx.query(HELD_NODES, &[id.into()])?;
    for node in &nodes {
        tx.execute(LOCK_OCCUPANCY, &[node.text(0)?.into()])?;
    }
    let sql = if model::planted!(ClaimEndsBeforeStart) { END_BEFORE_START } else { END };
    let ended = tx.execute(sql, &[id.into(), now.into()])?;
    for node in &nodes {
        tx.execute(FREE, &[node.text(0)?.into()])?;
    }
    Ok(ended)
}

/// The claims of an allocation, ended ones included.
pub fn of_allocation(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Vec<ClaimRow>, StoreError> {
    tx.query(OF_ALLOCATION, &[id.into()])?.iter().map(read).collect()
}

/// The latest claims on a slot, newest first.
pub fn of_slot(tx: &mut Tx<'_>, slot_id: &SlotId, limit: i64) -> Result<Vec<ClaimRow>, StoreError> {
    tx.query(OF_SLOT, &[slot_id.into(), limit.into()])?.iter().map(read).collect()
}

/// The latest claim on a whole node, active or ended.
pub fn last_exclusive(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Option<ClaimRow>, StoreError> {
    tx.query_opt(LAST_EXCLUSIVE, &[node_id.into()])?.as_ref().map(read).transpose()
}

/// The claims that hold on a node now.
pub fn active_on_node(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Vec<ClaimRow>, StoreError> {
    tx.query(ACTIVE_ON_NODE, &[node_id.into()])?.iter().map(read).collect()
}

/// The claims on a node in id order, ended ones too.
pub fn list_on_node(tx: &mut Tx<'_>, node_id: &NodeId, page: Page<'_>) -> Result<Vec<ClaimRow>, StoreError> {
    tx.query(ON_NODE, &[page.after.into(), page.rows().into(), node_id.into()])?.iter().map(read).collect()
}

/// What kind of claim each node of a range of ids carries now.
pub fn occupancy_between(
    tx: &mut Tx<'_>,
    first: &NodeId,
    last: &NodeId,
) -> Result<BTreeMap<NodeId, OccupancyMode>, StoreError> {
    let read = |row: &Row| Ok((row.parse(0)?, row.parse(1)?));
    tx.query(OCCUPANCY_BETWEEN, &[first.into(), last.into()])?.iter().map(read).collect()
}

/// What kind of claim a node may carry now.
pub fn occupancy(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<OccupancyMode, StoreError> {
    tx.query_one(OCCUPANCY, &[node_id.into()])?.parse(0)
}

/// The same, and nobody else changes it until the transaction ends.
pub fn occupancy_held(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<OccupancyMode, StoreError> {
    tx.execute(LOCK_OCCUPANCY, &[node_id.into()])?;
    occupancy(tx, node_id)
}

/// Takes every rule of the schema off the claims (checks, references, unique indexes), so that the planted bugs which
/// those rules would stop can show. For the simulator's embedded store only.
#[cfg(feature = "planted-bugs")]
pub fn drop_constraint_for_planted_bug(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    const STEPS: &[&str] = &[
        "CREATE TABLE claims_without_rules (id TEXT PRIMARY KEY, allocation_id TEXT, node_id TEXT, slot_id TEXT, \
         kind TEXT, active_mode TEXT, fence BIGINT, claimed_us BIGINT, released_us BIGINT, snapshot TEXT)",
        "INSERT INTO claims_without_rules SELECT id, allocation_id, node_id, slot_id, kind, active_mode, fence, \
         claimed_us, released_us, snapshot FROM allocation_resource_claims",
        "DROP TABLE allocation_resource_claims",
        "ALTER TABLE claims_without_rules RENAME TO allocation_resource_claims",
        "CREATE INDEX claims_by_slot ON allocation_resource_claims (slot_id, fence)",
        "CREATE INDEX claims_by_allocation ON allocation_resource_claims (allocation_id)",
        "CREATE INDEX claims_by_node ON allocation_resource_claims (node_id, active_mode)",
    ];
    for step in STEPS {
        tx.execute(step, &[])?;
    }
    Ok(())
}
