//! What the store's auditor must be told: which moves are on the published graphs, and whether a proof is signed.
//!
//! The simulator asks it after every step, `gpuaas verify` asks it about a live store. It reads and repairs nothing.

use store::{
    Db, StoreError,
    invariants::{self, Rules, Violation},
};

/// The rules of this program; at most `limit` violations a check.
pub fn rules(limit: i64) -> Rules<'static> {
    Rules { edge_exists: &lifecycle::edge_exists, proof_signed: &crate::proof_check::signed_by, limit }
}

/// Checks everything on one snapshot.
pub fn check(db: &Db, limit: i64) -> Result<Vec<Violation>, StoreError> {
    db.read(move |tx| invariants::check_all(tx, &rules(limit)))
}
