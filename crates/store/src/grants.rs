//! Disk grants: which disks the platform may destroy although something was found on them. Said by a person with a reason,
//! never inferred, and taken back by a person.

use model::{NodeId, Timestamp};

use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// The node.
    pub node_id: NodeId,
    /// The disk, by its own identity.
    pub nvme_identity: String,
    /// What shows that its content may go.
    pub reason: String,
    /// Who said so.
    pub granted_by: String,
    /// When.
    pub at: Timestamp,
}

macro_rules! selected {
    () => {
        "SELECT node_id, nvme_identity, reason, granted_by, at_us FROM disk_grants"
    };
}
const LIST: &str = concat!(selected!(), " WHERE node_id = $3 AND nvme_identity > $1 ORDER BY nvme_identity LIMIT $2");
const OF_NODE: &str = concat!(selected!(), " WHERE node_id = $1 ORDER BY nvme_identity");
const INSERT: &str = "INSERT INTO disk_grants (node_id, nvme_identity, reason, granted_by, at_us) \
    VALUES ($1, $2, $3, $4, $5)";
const DELETE: &str = "DELETE FROM disk_grants WHERE node_id = $1 AND nvme_identity = $2";

fn read(row: &Row) -> Result<GrantRow, StoreError> {
    Ok(GrantRow {
        node_id: row.parse(0)?,
        nvme_identity: row.text(1)?.to_owned(),
        reason: row.text(2)?.to_owned(),
        granted_by: row.text(3)?.to_owned(),
        at: row.timestamp(4)?,
    })
}

/// The grants on a node, by disk.
pub fn list(tx: &mut Tx<'_>, node_id: &NodeId, page: Page<'_>) -> Result<Vec<GrantRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), node_id.into()])?.iter().map(read).collect()
}

/// All grants on a node.
pub fn of_node(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Vec<GrantRow>, StoreError> {
    tx.query(OF_NODE, &[node_id.into()])?.iter().map(read).collect()
}

/// Records a grant. A second one for the same disk is a `UniqueViolation`.
pub fn insert(tx: &mut Tx<'_>, grant: &GrantRow) -> Result<(), StoreError> {
    let params = [
        (&grant.node_id).into(),
        grant.nvme_identity.as_str().into(),
        grant.reason.as_str().into(),
        grant.granted_by.as_str().into(),
        grant.at.into(),
    ];
    tx.execute(INSERT, &params)?;
    Ok(())
}

/// Takes a grant back. False when there is none.
pub fn delete(tx: &mut Tx<'_>, node_id: &NodeId, nvme_identity: &str) -> Result<bool, StoreError> {
    Ok(tx.execute(DELETE, &[node_id.into(), nvme_identity.into()])? == 1)
}
