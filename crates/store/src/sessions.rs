//! Sessions of people in browsers. Only a hash of the secret is stored. A session may do what its token may do and ends
//! with it; whether it is still good is for the caller to say, who has a clock.

use model::{PrincipalId, SessionId, Timestamp, TokenId};

use crate::{Row, StoreError, Tx};

/// One session, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub principal_id: PrincipalId,
    /// The token that says what it may do.
    pub token_id: TokenId,
    /// Whether that token was made for it alone.
    pub owns_token: bool,
    /// When it began.
    pub created: Timestamp,
    /// When it was last used, not to the minute.
    pub seen: Timestamp,
    /// When it ends at the latest.
    pub expires: Timestamp,
    /// When it was ended.
    pub ended: Option<Timestamp>,
}

/// A session to record.
#[derive(Debug, Clone, Copy)]
pub struct SessionNew<'a> {
    /// Its id.
    pub id: &'a SessionId,
    /// The hash of the secret.
    pub secret_hash: &'a str,
    /// Whose it is.
    pub principal_id: &'a PrincipalId,
    /// The token that says what it may do.
    pub token_id: &'a TokenId,
    /// Whether that token was made for it alone.
    pub owns_token: bool,
    /// When it ends at the latest.
    pub expires: Timestamp,
}

const INSERT: &str = "INSERT INTO sessions (id, secret_hash, principal_id, token_id, owns_token, created_us, seen_us, \
    expires_us) VALUES ($1, $2, $3, $4, $5, $6, $6, $7)";
const BY_HASH: &str = "SELECT id, principal_id, token_id, owns_token, created_us, seen_us, expires_us, ended_us \
    FROM sessions WHERE secret_hash = $1";
const SEEN: &str = "UPDATE sessions SET seen_us = $2 WHERE secret_hash = $1 AND seen_us < $2 AND ended_us IS NULL";
const END: &str = "UPDATE sessions SET ended_us = $2 WHERE id = $1 AND ended_us IS NULL";
const PURGE: &str = "DELETE FROM sessions WHERE id IN \
    (SELECT id FROM sessions WHERE expires_us < $1 ORDER BY expires_us LIMIT $2)";

fn read(row: &Row) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        id: row.parse(0)?,
        principal_id: row.parse(1)?,
        token_id: row.parse(2)?,
        owns_token: row.int(3)? == 1,
        created: row.timestamp(4)?,
        seen: row.timestamp(5)?,
        expires: row.timestamp(6)?,
        ended: row.opt_timestamp(7)?,
    })
}

/// Records a new session. A second one with the same hash is refused.
pub fn insert(tx: &mut Tx<'_>, new: SessionNew<'_>, now: Timestamp) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.secret_hash.into(),
        new.principal_id.into(),
        new.token_id.into(),
        i64::from(new.owns_token).into(),
        now.into(),
        new.expires.into(),
    ];
    tx.execute_one(INSERT, &params)
}

/// The session with this hash, live or not.
pub fn find_by_hash(tx: &mut Tx<'_>, secret_hash: &str) -> Result<Option<SessionRow>, StoreError> {
    tx.query_opt(BY_HASH, &[secret_hash.into()])?.as_ref().map(read).transpose()
}

/// Notes that a session was used.
pub fn seen(tx: &mut Tx<'_>, secret_hash: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(SEEN, &[secret_hash.into(), now.into()]).map(drop)
}

/// Ends a session. One that has ended stays as it is.
pub fn end(tx: &mut Tx<'_>, id: &SessionId, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(END, &[id.into(), now.into()]).map(drop)
}

/// Forgets up to `limit` sessions that ended by themselves before a moment; says how many.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp, limit: i64) -> Result<u64, StoreError> {
    tx.execute(PURGE, &[before.into(), limit.into()])
}
