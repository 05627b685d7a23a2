//! Who this store is. The id never changes; the incarnation rises by one whenever a store is brought back from a backup,
//! so that agents refuse orders from before the restore (it is the first part of every fence).

use crate::{StoreError, Tx};

/// The store's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreIdentity {
    /// Given at creation, never changed.
    pub store_id: String,
    /// 1 at creation, raised after every restore.
    pub incarnation: i64,
}

/// Creates the identity of a new store; an existing one stays as it is.
pub(crate) fn ensure(tx: &mut Tx<'_>, store_id: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO store_identity (one, store_id, incarnation) VALUES (1, $1, 1) ON CONFLICT (one) DO NOTHING",
        &[store_id.into()],
    )?;
    Ok(())
}

/// Reads the identity.
pub fn store_identity(tx: &mut Tx<'_>) -> Result<StoreIdentity, StoreError> {
    let row = tx.query_one("SELECT store_id, incarnation FROM store_identity WHERE one = 1", &[])?;
    Ok(StoreIdentity { store_id: row.text(0)?.to_owned(), incarnation: row.int(1)? })
}

/// The current incarnation.
pub fn incarnation(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    store_identity(tx).map(|identity| identity.incarnation)
}

/// Raises the incarnation by one and answers the new one. Part of every restore.
pub fn incarnation_bump(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let sql = "UPDATE store_identity SET incarnation = incarnation + 1 WHERE one = 1 RETURNING incarnation";
    tx.query_one(sql, &[])?.int(0)
}
