//! What agents found on their hosts: the newest few discoveries of each node, and which node each device belongs to.
//!
//! A discovery is advice. It is kept apart from slots and sells nothing; whoever approves a slot reads it. Devices are
//! registered by their own identity, and two nodes never have the same one.

use std::collections::BTreeSet;

use model::{NodeId, TaskId, Timestamp};

use crate::{Batch, BulkInsert, Kind, Row, StoreError, Tx};

/// So many discoveries of a node are kept.
pub const KEPT: i64 = 5;

/// One discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryRow {
    /// The node.
    pub node_id: NodeId,
    /// Counts the discoveries of this node, from 1.
    pub number: i64,
    /// The order that found it.
    pub task_id: TaskId,
    /// SHA-256 of the body, in hexadecimal.
    pub digest: String,
    /// What was found, as JSON.
    pub body: String,
    /// When it came in.
    pub at: Timestamp,
}

const GPU: &str = "gpu";
const NVME: &str = "nvme";

/// Devices by their own identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices {
    /// GPUs.
    pub gpus: BTreeSet<String>,
    /// Disks.
    pub nvme: BTreeSet<String>,
}

impl Devices {
    fn all(&self) -> impl Iterator<Item = (&'static str, &String)> {
        self.gpus.iter().map(|gpu| (GPU, gpu)).chain(self.nvme.iter().map(|disk| (NVME, disk)))
    }
}

/// A device that another node has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// `gpu` or `nvme`.
    pub kind: String,
    /// The device.
    pub identity: String,
    /// The node that has it.
    pub node_id: NodeId,
}

static DEVICES: BulkInsert = BulkInsert {
    table: "node_devices",
    columns: &[("kind", Kind::Text), ("identity", Kind::Text), ("node_id", Kind::Text)],
};
const LATEST: &str = "SELECT node_id, number, task_id, digest, body, at_us FROM node_discoveries WHERE node_id = $1 \
    ORDER BY number DESC LIMIT 1";
const INSERT: &str = "INSERT INTO node_discoveries (node_id, number, task_id, digest, body, at_us) \
    VALUES ($1, $2, $3, $4, $5, $6)";
const TRIM: &str = "DELETE FROM node_discoveries WHERE node_id = $1 AND number <= $2";
const COUNT: &str = "SELECT COUNT(*) FROM node_discoveries WHERE node_id = $1";
const RELEASE: &str = "DELETE FROM node_devices WHERE node_id = $1";
const FOREIGN: &str = "SELECT d.kind, d.identity, d.node_id FROM node_devices d WHERE d.kind = $1 AND d.node_id <> $2 \
    AND d.identity IN (SELECT given.key FROM json_each(json(CAST($3 AS TEXT))) AS given) ORDER BY d.identity";
const TAKE_OVER: &str = "DELETE FROM node_devices WHERE kind = $1 AND identity = $2 AND node_id = $3";

fn read(row: &Row) -> Result<DiscoveryRow, StoreError> {
    Ok(DiscoveryRow {
        node_id: row.parse(0)?,
        number: row.int(1)?,
        task_id: row.parse(2)?,
        digest: row.text(3)?.to_owned(),
        body: row.text(4)?.to_owned(),
        at: row.timestamp(5)?,
    })
}

/// The newest discovery of a node.
pub fn latest(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Option<DiscoveryRow>, StoreError> {
    tx.query_opt(LATEST, &[node_id.into()])?.as_ref().map(read).transpose()
}

/// How many discoveries of a node are kept now.
pub fn count(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<i64, StoreError> {
    tx.query_one(COUNT, &[node_id.into()])?.int(0)
}

/// Keeps a discovery as the newest of its node and forgets those that are too old. Answers its number.
pub fn insert(
    tx: &mut Tx<'_>,
    node_id: &NodeId,
    task_id: &TaskId,
    digest: &str,
    body: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let number = latest(tx, node_id)?.map_or(1, |row| row.number + 1);
    let params = [node_id.into(), number.into(), task_id.into(), digest.into(), body.into(), now.into()];
    tx.execute(INSERT, &params)?;
    tx.execute(TRIM, &[node_id.into(), (number - KEPT).into()])?;
    Ok(number)
}

/// The devices among these that other nodes have.
pub fn foreign(tx: &mut Tx<'_>, node_id: &NodeId, devices: &Devices) -> Result<Vec<Foreign>, StoreError> {
    let mut found = Vec::new();
    for (kind, identities) in [(GPU, &devices.gpus), (NVME, &devices.nvme)] {
        let given: serde_json::Map<_, _> = identities.iter().map(|identity| (identity.clone(), true.into())).collect();
        let params = [kind.into(), node_id.into(), serde_json::Value::Object(given).to_string().into()];
        for row in &tx.query(FOREIGN, &params)? {
            found.push(Foreign {
                kind: row.text(0)?.to_owned(),
                identity: row.text(1)?.to_owned(),
                node_id: row.parse(2)?,
            });
        }
    }
    Ok(found)
}

/// Takes a device off the node that has it, because that node is out of use.
pub fn take_over(tx: &mut Tx<'_>, device: &Foreign) -> Result<(), StoreError> {
    let params = [device.kind.as_str().into(), device.identity.as_str().into(), (&device.node_id).into()];
    tx.execute(TAKE_OVER, &params)?;
    Ok(())
}

/// Registers what a node has now, in place of what it had before. A device of another node is a `UniqueViolation`.
pub fn register(tx: &mut Tx<'_>, node_id: &NodeId, devices: &Devices) -> Result<(), StoreError> {
    tx.execute(RELEASE, &[node_id.into()])?;
    let mut rows = Batch::insert(&DEVICES);
    for (kind, identity) in devices.all() {
        rows.push([kind.into(), identity.as_str().into(), node_id.into()]);
    }
    if !rows.is_empty() {
        tx.execute_bulk(&rows)?;
    }
    Ok(())
}
