//! Wipe proofs: one for each use of a slot, kept for ever. Only a proof that was checked, signature included, belongs
//! in here; the first one for a use stays, a second is ignored. A slot that was used becomes available only through
//! this table.

use model::proof::Proof;
use model::{NodeId, SlotId, Timestamp};

use crate::{Row, StoreError, Tx};

/// One stored proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofRow {
    /// The node that gave it.
    pub node_id: NodeId,
    /// The slot that was wiped.
    pub slot_id: SlotId,
    /// The use that ended.
    pub use_generation: i64,
    /// The challenge it answers.
    pub nonce: String,
    /// The whole proof.
    pub proof: Proof,
    /// When it was stored.
    pub at: Timestamp,
}

const INSERT: &str = "INSERT INTO wipe_proofs (slot_id, use_generation, node_id, nonce, body, at_us) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (slot_id, use_generation) DO NOTHING";
const GET: &str = "SELECT node_id, slot_id, use_generation, nonce, body, at_us FROM wipe_proofs \
    WHERE slot_id = $1 AND use_generation = $2";
const OF_SLOT: &str = "SELECT node_id, slot_id, use_generation, nonce, body, at_us FROM wipe_proofs \
    WHERE slot_id = $1 ORDER BY use_generation DESC LIMIT $2";

fn read(row: &Row) -> Result<ProofRow, StoreError> {
    Ok(ProofRow {
        node_id: row.parse(0)?,
        slot_id: row.parse(1)?,
        use_generation: row.int(2)?,
        nonce: row.text(3)?.to_owned(),
        proof: serde_json::from_str(row.text(4)?).map_err(|error| row.corrupt(4, &error.to_string()))?,
        at: row.timestamp(5)?,
    })
}

/// Stores a proof that was checked. False when this use already has one, which stays.
pub fn insert(tx: &mut Tx<'_>, proof: &Proof, now: Timestamp) -> Result<bool, StoreError> {
    let body = serde_json::to_string(proof).map_err(|error| StoreError::Other(error.to_string()))?;
    let params = [
        (&proof.slot_id).into(),
        proof.use_generation.into(),
        (&proof.node_id).into(),
        proof.nonce.as_str().into(),
        body.into(),
        now.into(),
    ];
    Ok(tx.execute(INSERT, &params)? == 1)
}

/// The proof for one use of a slot.
pub fn get(tx: &mut Tx<'_>, slot_id: &SlotId, use_generation: i64) -> Result<Option<ProofRow>, StoreError> {
    tx.query_opt(GET, &[slot_id.into(), use_generation.into()])?.as_ref().map(read).transpose()
}

/// The latest proofs of a slot, newest first.
pub fn of_slot(tx: &mut Tx<'_>, slot_id: &SlotId, limit: i64) -> Result<Vec<ProofRow>, StoreError> {
    tx.query(OF_SLOT, &[slot_id.into(), limit.into()])?.iter().map(read).collect()
}
