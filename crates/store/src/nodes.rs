//! Nodes: enrolled GPU hosts. Heartbeats arrive often and mean little one by one, so they are collected in memory and
//! written in batches here; they raise no version and write no event. Whether a node counts as online or silent is a
//! state, entered by the driver like any other.

use model::event::{Change as What, Noun};
use model::supply::{GpuModel, NodeState};
use model::{NodeId, PoolId, Timestamp};

use crate::living::{Life, Seen, life_begins_anew, life_columns};
use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// Its id.
    pub id: NodeId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its host name, unique.
    pub name: String,
    /// What it carries.
    pub gpu_model: GpuModel,
    /// The Ed25519 key its proofs are signed with, in hexadecimal.
    pub public_key: String,
    /// Sellable sets of GPU module ids, as JSON.
    pub partitions: String,
    /// The last heartbeat that was written down.
    pub last_seen: Option<Timestamp>,
    /// Raised in the transaction that gives the whole node to a tenant.
    pub use_generation: i64,
    /// Whether its agent has been heard of lately.
    pub state: NodeState,
    /// Waits, looks and faults.
    pub life: Life,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl NodeRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Node, what, self.id.as_str(), self.version + 1)
    }
}

/// A node to record.
#[derive(Debug, Clone, Copy)]
pub struct NodeNew<'a> {
    /// Its id.
    pub id: &'a NodeId,
    /// Its pool.
    pub pool_id: &'a PoolId,
    /// Its host name.
    pub name: &'a str,
    /// What it carries.
    pub gpu_model: GpuModel,
    /// The Ed25519 key its proofs are signed with, in hexadecimal.
    pub public_key: &'a str,
    /// Sellable sets of GPU module ids, as JSON.
    pub partitions: &'a str,
}

macro_rules! selected {
    () => {
        concat!(
            "SELECT n.id, n.pool_id, n.name, n.gpu_model, n.public_key, n.partitions, n.last_seen_us, ",
            "n.use_generation, n.state, n.version, n.created_us, ",
            life_columns!("n"),
            " FROM nodes n"
        )
    };
}

const INSERT: &str = "INSERT INTO nodes (id, pool_id, name, gpu_model, public_key, partitions, state, state_since_us, \
    look_us, version, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, $8)";
const INSERT_OCCUPANCY: &str = "INSERT INTO node_occupancy (node_id, mode) VALUES ($1, 'free')";
const GET: &str = concat!(selected!(), " WHERE n.id = $1");
const BY_NAME: &str = concat!(selected!(), " WHERE n.name = $1");
const BY_KEY: &str = concat!(selected!(), " WHERE n.public_key = $1");
const LIST: &str =
    concat!(selected!(), " WHERE n.id > $1 AND (CAST($3 AS TEXT) IS NULL OR n.pool_id = $3) ORDER BY n.id LIMIT $2");
const ENTER: &str = concat!(
    "UPDATE nodes SET state = $3, ",
    life_begins_anew!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const RAISE: &str = "UPDATE nodes SET use_generation = use_generation + 1, version = version + 1 \
    WHERE id = $1 AND version = $2";
const SET_PARTITIONS: &str = "UPDATE nodes SET partitions = $3, version = version + 1 WHERE id = $1 AND version = $2";
// One document of {node id: micros}. A late heartbeat never moves time back; a node that was not online is looked at.
const HEARTBEATS: &str = "UPDATE nodes SET last_seen_us = CAST(CAST(beat.value AS TEXT) AS BIGINT), \
    look_us = CASE WHEN state = 'online' THEN look_us WHEN look_us <= $2 THEN look_us - 1 ELSE $2 END \
    FROM json_each(json(CAST($1 AS TEXT))) AS beat WHERE nodes.id = beat.key \
    AND (last_seen_us IS NULL OR last_seen_us < CAST(CAST(beat.value AS TEXT) AS BIGINT))";

fn read(row: &Row) -> Result<NodeRow, StoreError> {
    Ok(NodeRow {
        id: row.parse(0)?,
        pool_id: row.parse(1)?,
        name: row.text(2)?.to_owned(),
        gpu_model: row.parse(3)?,
        public_key: row.text(4)?.to_owned(),
        partitions: row.text(5)?.to_owned(),
        last_seen: row.opt_timestamp(6)?,
        use_generation: row.int(7)?,
        state: row.parse(8)?,
        version: row.int(9)?,
        created: row.timestamp(10)?,
        life: Life::read(row, 11)?,
    })
}

/// Records a new node: `enrolled`, free of claims, due for a look.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: NodeNew<'_>) -> Result<(), StoreError> {
    let state = NodeState::Enrolled.as_str();
    let params = [
        new.id.into(),
        new.pool_id.into(),
        new.name.into(),
        new.gpu_model.as_str().into(),
        new.public_key.into(),
        new.partitions.into(),
        state.into(),
        stamp.now.into(),
    ];
    let change = Change::of(Noun::Node, What::Created, new.id.as_str(), 1).states(None, state);
    record::created(tx, stamp, INSERT, &params, change)?;
    tx.execute(INSERT_OCCUPANCY, &[new.id.into()])?;
    Ok(())
}

/// One node.
pub fn get(tx: &mut Tx<'_>, id: &NodeId) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The node with this host name.
pub fn by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(BY_NAME, &[name.into()])?.as_ref().map(read).transpose()
}

/// The node with this public key: what an agent that proves its key may act for.
pub fn by_public_key(tx: &mut Tx<'_>, public_key: &str) -> Result<Option<NodeRow>, StoreError> {
    tx.query_opt(BY_KEY, &[public_key.into()])?.as_ref().map(read).transpose()
}

/// Nodes in id order, of one pool where one is given.
pub fn list(tx: &mut Tx<'_>, pool_id: Option<&PoolId>, page: Page<'_>) -> Result<Vec<NodeRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), pool_id.into()])?.iter().map(read).collect()
}

/// Moves a node to a state.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    state: NodeState,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), state.as_str().into(), stamp.now.into()];
    let change = node.change(What::StateChanged).states(Some(node.state.as_str()), state.as_str()).because(reason);
    record::changed(tx, stamp, ENTER, &params, change)
}

/// Begins a new use of the whole node, before any tenant code can run on it. Answers the generation that fences it.
pub fn raise_generation(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into()];
    record::changed(tx, stamp, RAISE, &params, node.change(What::Updated).because(Some("claimed")))?;
    Ok(node.use_generation + 1)
}

/// Stores the sellable sets that were read from the node.
pub fn set_partitions(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    partitions: &str,
) -> Result<i64, StoreError> {
    let params = [(&node.id).into(), node.version.into(), partitions.into()];
    record::changed(tx, stamp, SET_PARTITIONS, &params, node.change(What::Updated))
}

/// Writes down heartbeats that were collected in memory; says how many nodes they moved.
pub fn heartbeats_flush(tx: &mut Tx<'_>, beats: &[(NodeId, Timestamp)], now: Timestamp) -> Result<u64, StoreError> {
    if beats.is_empty() {
        return Ok(0);
    }
    let mut latest = serde_json::Map::new();
    for (id, at) in beats {
        let known = latest.get(id.as_str()).and_then(serde_json::Value::as_i64).unwrap_or(0);
        latest.insert(id.as_str().to_owned(), at.as_micros().max(known).into());
    }
    tx.execute(HEARTBEATS, &[serde_json::Value::Object(latest).to_string().into(), now.into()])
}
