//! Answers kept for retries: the answer to a create or action, written in the same transaction as its effect, so that a
//! retry after any crash, lost reply or unknown commit gets the same bytes and no second effect.

use model::{PrincipalId, Timestamp};

use crate::{Row, StoreError, Tx};

/// A kept answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// A hash of the request; another one under the same key is another request.
    pub fingerprint: String,
    /// The HTTP status.
    pub status: i64,
    /// The body.
    pub answer: String,
    /// The ETag header.
    pub etag: Option<String>,
    /// The Location header.
    pub location: Option<String>,
    /// When it was given.
    pub at: Timestamp,
}

const FIND: &str = "SELECT fingerprint, status, answer, etag, location, at_us FROM idempotency \
    WHERE principal_id = $1 AND idempotency_key = $2";
macro_rules! insert {
    ($on_conflict:literal) => {
        concat!(
            "INSERT INTO idempotency (principal_id, idempotency_key, fingerprint, status, answer, etag, location, at_us) ",
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            $on_conflict
        )
    };
}
const INSERT: &str = insert!("");
const INSERT_FORGETFUL: &str = insert!(" ON CONFLICT (principal_id, idempotency_key) DO NOTHING");
const PURGE: &str = "DELETE FROM idempotency WHERE (principal_id, idempotency_key) IN \
    (SELECT principal_id, idempotency_key FROM idempotency WHERE at_us < $1 ORDER BY at_us LIMIT $2)";

fn read(row: &Row) -> Result<Kept, StoreError> {
    Ok(Kept {
        fingerprint: row.text(0)?.to_owned(),
        status: row.int(1)?,
        answer: row.text(2)?.to_owned(),
        etag: row.opt_text(3)?.map(str::to_owned),
        location: row.opt_text(4)?.map(str::to_owned),
        at: row.timestamp(5)?,
    })
}

/// The answer that was given under a key.
pub fn find(tx: &mut Tx<'_>, principal_id: &PrincipalId, key: &str) -> Result<Option<Kept>, StoreError> {
    if model::planted!(IdempotencyForgotten) {
        return Ok(None);
    }
    tx.query_opt(FIND, &[principal_id.into(), key.into()])?.as_ref().map(read).transpose()
}

/// Keeps an answer. A second one under the same key is a `UniqueViolation`: the effect that came with it must not
/// commit.
pub fn insert(tx: &mut Tx<'_>, principal_id: &PrincipalId, key: &str, kept: &Kept) -> Result<(), StoreError> {
    let params = [
        principal_id.into(),
        key.into(),
        kept.fingerprint.as_str().into(),
        kept.status.into(),
        kept.answer.as_str().into(),
        kept.etag.as_deref().into(),
        kept.location.as_deref().into(),
        kept.at.into(),
    ];
    let sql = if model::planted!(IdempotencyForgotten) { INSERT_FORGETFUL } else { INSERT };
    tx.execute(sql, &params)?;
    Ok(())
}

/// Forgets up to `limit` answers that were given before a moment, oldest first; says how many.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp, limit: i64) -> Result<u64, StoreError> {
    tx.execute(PURGE, &[before.into(), limit.into()])
}
