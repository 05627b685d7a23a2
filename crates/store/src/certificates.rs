//! The certificates that were given to nodes, by serial number. A certificate is good until it expires or its row says that
//! it was revoked; what has long expired is forgotten,
//! but for the newest of each node.

use model::{NodeId, Timestamp};

use crate::{Row, StoreError, Tx};

/// One certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRow {
    /// Its serial number, in hexadecimal.
    pub serial: String,
    /// Whose it is.
    pub node_id: NodeId,
    /// Until when it is good.
    pub not_after: Timestamp,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// When it was given.
    pub created: Timestamp,
}

const INSERT: &str =
    "INSERT INTO node_certificates (serial, node_id, not_after_us, created_us) VALUES ($1, $2, $3, $4)";
const GET: &str =
    "SELECT serial, node_id, not_after_us, revoked_us, created_us FROM node_certificates WHERE serial = $1";
const OF_NODE: &str = "SELECT serial, node_id, not_after_us, revoked_us, created_us FROM node_certificates \
    WHERE node_id = $1 ORDER BY created_us, serial";
const REVOKE_OF_NODE: &str = "UPDATE node_certificates SET revoked_us = $2 WHERE node_id = $1 AND revoked_us IS NULL";
const REVOKED: &str = "SELECT serial FROM node_certificates WHERE revoked_us IS NOT NULL AND not_after_us > $1 \
    ORDER BY serial";
// The newest of each node stays: it says whether the node's identity was revoked.
const PURGE: &str = "DELETE FROM node_certificates WHERE serial IN (SELECT c.serial FROM node_certificates c \
    WHERE c.not_after_us < $1 AND EXISTS (SELECT 1 FROM node_certificates o WHERE o.node_id = c.node_id \
    AND o.created_us > c.created_us) ORDER BY c.serial LIMIT $2)";

fn read(row: &Row) -> Result<CertificateRow, StoreError> {
    Ok(CertificateRow {
        serial: row.text(0)?.to_owned(),
        node_id: row.parse(1)?,
        not_after: row.timestamp(2)?,
        revoked: row.opt_timestamp(3)?,
        created: row.timestamp(4)?,
    })
}

/// Records a certificate that is given to a node.
pub fn insert(
    tx: &mut Tx<'_>,
    serial: &str,
    node_id: &NodeId,
    not_after: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(INSERT, &[serial.into(), node_id.into(), not_after.into(), now.into()])?;
    Ok(())
}

/// One certificate.
pub fn get(tx: &mut Tx<'_>, serial: &str) -> Result<Option<CertificateRow>, StoreError> {
    tx.query_opt(GET, &[serial.into()])?.as_ref().map(read).transpose()
}

/// A node's certificates, oldest first.
pub fn of_node(tx: &mut Tx<'_>, node_id: &NodeId) -> Result<Vec<CertificateRow>, StoreError> {
    tx.query(OF_NODE, &[node_id.into()])?.iter().map(read).collect()
}

/// Revokes every certificate of a node; says how many were not revoked before.
pub fn revoke_of_node(tx: &mut Tx<'_>, node_id: &NodeId, now: Timestamp) -> Result<u64, StoreError> {
    tx.execute(REVOKE_OF_NODE, &[node_id.into(), now.into()])
}

/// The serial numbers that were revoked before they expired.
pub fn revoked(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<String>, StoreError> {
    tx.query(REVOKED, &[now.into()])?.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

/// Forgets up to `limit` certificates that expired before a moment, but for the newest of each node; says how many.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp, limit: i64) -> Result<u64, StoreError> {
    tx.execute(PURGE, &[before.into(), limit.into()])
}
