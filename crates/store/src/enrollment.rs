//! Enrollment tokens: each brings one host in, once. Only a hash of the secret is stored. Whether a token is still good is
//! for the caller to compare with its clock; that it is used at most once is a guard of the statement that uses it.

use model::event::{Change as What, Noun};
use model::{EnrollmentTokenId, NodeId, PoolId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One enrollment token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrollmentTokenRow {
    /// Its id.
    pub id: EnrollmentTokenId,
    /// The pool that the host will be in.
    pub pool_id: PoolId,
    /// What the host will be called.
    pub node_name: String,
    /// The serial number its mainboard must have.
    pub hardware_serial: Option<String>,
    /// Until when it can be used.
    pub expires: Timestamp,
    /// When it was used.
    pub used: Option<Timestamp>,
    /// The node it became.
    pub node_id: Option<NodeId>,
    /// When it was taken back.
    pub revoked: Option<Timestamp>,
    /// Who made it.
    pub created_by: String,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl EnrollmentTokenRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::EnrollmentToken, what, self.id.as_str(), self.version + 1)
    }
}

/// An enrollment token to record.
#[derive(Debug, Clone, Copy)]
pub struct EnrollmentTokenNew<'a> {
    /// Its id.
    pub id: &'a EnrollmentTokenId,
    /// The pool that the host will be in.
    pub pool_id: &'a PoolId,
    /// What the host will be called.
    pub node_name: &'a str,
    /// The serial number its mainboard must have; any when absent.
    pub hardware_serial: Option<&'a str>,
    /// The hash of the secret.
    pub secret_hash: &'a str,
    /// Until when it can be used.
    pub expires: Timestamp,
    /// Who makes it.
    pub created_by: &'a str,
}

macro_rules! selected {
    () => {
        "SELECT id, pool_id, node_name, hardware_serial, expires_us, used_us, node_id, revoked_us, created_by, version, \
         created_us FROM enrollment_tokens"
    };
}

const INSERT: &str = "INSERT INTO enrollment_tokens (id, pool_id, node_name, hardware_serial, secret_hash, expires_us, \
    created_by, version, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8)";
const GET: &str = concat!(selected!(), " WHERE id = $1");
const BY_HASH: &str = concat!(selected!(), " WHERE secret_hash = $1");
const LIST: &str = concat!(selected!(), " WHERE id > $1 ORDER BY id LIMIT $2");
const BY_CREATOR: &str = concat!(selected!(), " WHERE created_by = $1 ORDER BY id");
const UNUSED_FOR: &str =
    concat!(selected!(), " WHERE node_name = $1 AND used_us IS NULL AND revoked_us IS NULL ORDER BY id");
const SPEND: &str = "UPDATE enrollment_tokens SET used_us = $3, node_id = $4, version = version + 1 \
    WHERE id = $1 AND version = $2 AND used_us IS NULL AND revoked_us IS NULL AND expires_us > $3";
const REVOKE: &str = "UPDATE enrollment_tokens SET revoked_us = $3, version = version + 1 \
    WHERE id = $1 AND version = $2 AND used_us IS NULL AND revoked_us IS NULL";

fn read(row: &Row) -> Result<EnrollmentTokenRow, StoreError> {
    Ok(EnrollmentTokenRow {
        id: row.parse(0)?,
        pool_id: row.parse(1)?,
        node_name: row.text(2)?.to_owned(),
        hardware_serial: row.opt_text(3)?.map(str::to_owned),
        expires: row.timestamp(4)?,
        used: row.opt_timestamp(5)?,
        node_id: row.opt_parse(6)?,
        revoked: row.opt_timestamp(7)?,
        created_by: row.text(8)?.to_owned(),
        version: row.int(9)?,
        created: row.timestamp(10)?,
    })
}

/// Records a new token.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: EnrollmentTokenNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.pool_id.into(),
        new.node_name.into(),
        new.hardware_serial.into(),
        new.secret_hash.into(),
        new.expires.into(),
        new.created_by.into(),
        stamp.now.into(),
    ];
    let change = Change::of(Noun::EnrollmentToken, What::Created, new.id.as_str(), 1);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One token.
pub fn get(tx: &mut Tx<'_>, id: &EnrollmentTokenId) -> Result<Option<EnrollmentTokenRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The token with this hash, good or not.
pub fn find_by_hash(tx: &mut Tx<'_>, secret_hash: &str) -> Result<Option<EnrollmentTokenRow>, StoreError> {
    tx.query_opt(BY_HASH, &[secret_hash.into()])?.as_ref().map(read).transpose()
}

/// Tokens in id order, used ones too.
pub fn list(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<EnrollmentTokenRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// The tokens that somebody made, oldest first.
pub fn made_by(tx: &mut Tx<'_>, creator: &str) -> Result<Vec<EnrollmentTokenRow>, StoreError> {
    tx.query(BY_CREATOR, &[creator.into()])?.iter().map(read).collect()
}

/// The tokens that could still bring in a host of this name, leaving aside how old they are.
pub fn unused_for(tx: &mut Tx<'_>, node_name: &str) -> Result<Vec<EnrollmentTokenRow>, StoreError> {
    tx.query(UNUSED_FOR, &[node_name.into()])?.iter().map(read).collect()
}

/// Uses a token for a node. `StaleVersion` when somebody else was quicker, or when it is not good any more.
pub fn spend(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    token: &EnrollmentTokenRow,
    node_id: &NodeId,
) -> Result<i64, StoreError> {
    let params = [(&token.id).into(), token.version.into(), stamp.now.into(), node_id.into()];
    record::changed(tx, stamp, SPEND, &params, token.change(What::Updated).because(Some("used")))
}

/// Takes an unused token back.
pub fn revoke(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, token: &EnrollmentTokenRow) -> Result<i64, StoreError> {
    let params = [(&token.id).into(), token.version.into(), stamp.now.into()];
    record::changed(tx, stamp, REVOKE, &params, token.change(What::Deleted).because(Some("revoked")))
}
