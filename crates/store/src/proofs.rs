//! Wipe proofs, for every use of every slot, kept for ever as they were received, each with what it was held against.
//!
//! Only a proof that was checked, signature included, is taken; the first one for a challenge stays, a second is ignored. A
//! slot that was used becomes available only through these, or through two operators' word ([`crate::wipe_overrides`]). Proofs
//! that were refused are kept beside them, one for each challenge, for people to read; they open nothing.

use model::proof::{Proof, ProofFault, WipeStep};
use model::{NodeId, ProofId, SlotId, Timestamp};

use crate::{Row, StoreError, Tx};
use crate::{scope::Page, slots::SlotRow};

/// One proof that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofRow {
    /// Its id.
    pub id: ProofId,
    /// The node that gave it.
    pub node_id: NodeId,
    /// The slot that was to be wiped.
    pub slot_id: SlotId,
    /// The use that ended.
    pub use_generation: i64,
    /// The challenge it had to answer.
    pub nonce: String,
    /// The whole proof.
    pub proof: Proof,
    /// When it came in.
    pub at: Timestamp,
    /// The public key that the node had then, in hexadecimal.
    pub public_key: String,
    /// The disk it had to be about; empty for proofs from before disks were named.
    pub disk_identity: String,
    /// The steps it had to have.
    pub steps: Vec<WipeStep>,
    /// Why it was refused; none when it was taken.
    pub refused: Option<ProofFault>,
}

/// A proof to keep, with what it was held against.
#[derive(Debug, Clone, Copy)]
pub struct ProofNew<'a> {
    /// Its id.
    pub id: &'a ProofId,
    /// The node that gave it.
    pub node_id: &'a NodeId,
    /// The slot that was to be wiped.
    pub slot_id: &'a SlotId,
    /// The use that ended.
    pub use_generation: i64,
    /// The challenge it had to answer.
    pub nonce: &'a str,
    /// The whole proof.
    pub proof: &'a Proof,
    /// The node's public key.
    pub public_key: &'a str,
    /// The disk it had to be about.
    pub disk_identity: &'a str,
    /// The steps it had to have.
    pub steps: &'a [WipeStep],
}

macro_rules! taken {
    () => {
        "SELECT id, node_id, slot_id, use_generation, nonce, body, at_us, public_key, disk_identity, steps, \
         NULL AS fault FROM wipe_proofs"
    };
}
macro_rules! all {
    ($restriction:literal) => {
        concat!(
            "SELECT * FROM (",
            taken!(),
            " UNION ALL SELECT id, node_id, slot_id, use_generation, nonce, body, at_us, public_key, disk_identity, ",
            "steps, fault FROM refused_proofs) AS received WHERE slot_id = ",
            $restriction
        )
    };
}

const INSERT: &str = "INSERT INTO wipe_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, \
    disk_identity, steps) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
    ON CONFLICT (slot_id, use_generation, nonce) DO NOTHING";
const REFUSE: &str = "INSERT INTO refused_proofs (id, slot_id, use_generation, node_id, nonce, body, at_us, public_key, \
    disk_identity, steps, fault) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
    ON CONFLICT (slot_id, use_generation, nonce) DO NOTHING";
const GET: &str = concat!(taken!(), " WHERE slot_id = $1 AND use_generation = $2 ORDER BY at_us DESC, id DESC LIMIT 1");
const ANSWERING: &str = concat!(taken!(), " WHERE slot_id = $1 AND use_generation = $2 AND nonce = $3");
const OF_SLOT: &str =
    concat!(taken!(), " WHERE slot_id = $1 ORDER BY use_generation DESC, at_us DESC, id DESC LIMIT $2");
const NEWEST: &str =
    all!("$1 AND (CAST($2 AS BIGINT) IS NULL OR use_generation = $2) ORDER BY at_us DESC, id DESC LIMIT 1");
const LIST: &str = all!("$3 AND id > $1 ORDER BY id LIMIT $2");

fn read(row: &Row) -> Result<ProofRow, StoreError> {
    let json_fault = |at: usize| move |error: serde_json::Error| row.corrupt(at, &error.to_string());
    Ok(ProofRow {
        id: row.parse(0)?,
        node_id: row.parse(1)?,
        slot_id: row.parse(2)?,
        use_generation: row.int(3)?,
        nonce: row.text(4)?.to_owned(),
        proof: serde_json::from_str(row.text(5)?).map_err(json_fault(5))?,
        at: row.timestamp(6)?,
        public_key: row.text(7)?.to_owned(),
        disk_identity: row.text(8)?.to_owned(),
        steps: serde_json::from_str(row.text(9)?).map_err(json_fault(9))?,
        refused: row.opt_parse(10)?,
    })
}

fn params(new: &ProofNew<'_>, now: Timestamp) -> Result<Vec<crate::Value>, StoreError> {
    let json_fault = |error: serde_json::Error| StoreError::Other(error.to_string());
    Ok(vec![
        new.id.into(),
        new.slot_id.into(),
        new.use_generation.into(),
        new.node_id.into(),
        new.nonce.into(),
        serde_json::to_string(new.proof).map_err(json_fault)?.into(),
        now.into(),
        new.public_key.into(),
        new.disk_identity.into(),
        serde_json::to_string(new.steps).map_err(json_fault)?.into(),
    ])
}

/// Takes a proof that was checked. False when this challenge was answered already; the first answer stays.
pub fn insert(tx: &mut Tx<'_>, new: &ProofNew<'_>, now: Timestamp) -> Result<bool, StoreError> {
    Ok(tx.execute(INSERT, &params(new, now)?)? == 1)
}

/// Keeps a proof that was refused, for people to read. False when one for this challenge is kept already.
pub fn refuse(tx: &mut Tx<'_>, new: &ProofNew<'_>, fault: ProofFault, now: Timestamp) -> Result<bool, StoreError> {
    let mut params = params(new, now)?;
    params.push(fault.as_str().into());
    Ok(tx.execute(REFUSE, &params)? == 1)
}

/// The proof that was taken last for one use of a slot.
pub fn get(tx: &mut Tx<'_>, slot_id: &SlotId, use_generation: i64) -> Result<Option<ProofRow>, StoreError> {
    tx.query_opt(GET, &[slot_id.into(), use_generation.into()])?.as_ref().map(read).transpose()
}

/// The proof that was taken for a slot's latest use and answers its latest challenge: what it takes to be clean.
pub fn of_latest(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<Option<ProofRow>, StoreError> {
    let Some(nonce) = &slot.wipe_nonce else { return Ok(None) };
    let params = [(&slot.id).into(), slot.use_generation.into(), nonce.as_str().into()];
    tx.query_opt(ANSWERING, &params)?.as_ref().map(read).transpose()
}

/// The latest proofs of a slot that were taken, newest first.
pub fn of_slot(tx: &mut Tx<'_>, slot_id: &SlotId, limit: i64) -> Result<Vec<ProofRow>, StoreError> {
    tx.query(OF_SLOT, &[slot_id.into(), limit.into()])?.iter().map(read).collect()
}

/// The proof of a slot that came in last, taken or not; of one use where given.
pub fn newest(tx: &mut Tx<'_>, slot_id: &SlotId, use_generation: Option<i64>) -> Result<Option<ProofRow>, StoreError> {
    tx.query_opt(NEWEST, &[slot_id.into(), use_generation.into()])?.as_ref().map(read).transpose()
}

/// Every proof of a slot that came in, taken or not, in the order of their ids.
pub fn list(tx: &mut Tx<'_>, slot_id: &SlotId, page: Page<'_>) -> Result<Vec<ProofRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into(), slot_id.into()])?.iter().map(read).collect()
}
