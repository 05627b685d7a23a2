//! Overrides: two operators let a slot go on whose wipe could not be proved.
//!
//! ```text
//! requested ──▶ approved ──▶ used        (approved only inside the transaction that makes the slot available)
//!     ├───────▶ rejected
//!     └───────▶ expired
//! ```
//!
//! That nobody decides on their own request is a rule of the schema. A slot becomes available only by an override of its
//! current use that is `approved`, and whoever does that marks it `used` in the same transaction: an override opens a slot
//! once.

use model::event::{Change as What, Noun};
use model::supply::OverrideState;
use model::{PrincipalId, SlotId, Timestamp, WipeOverrideId};

use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Row, StoreError, Tx};

/// One override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WipeOverrideRow {
    /// Its id.
    pub id: WipeOverrideId,
    /// The slot.
    pub slot_id: SlotId,
    /// The use that was not proved.
    pub use_generation: i64,
    /// Why.
    pub reason: String,
    /// Where the evidence is; may be empty.
    pub evidence_ref: String,
    /// Who asked.
    pub requested_by: PrincipalId,
    /// When.
    pub requested: Timestamp,
    /// Who decided, and when.
    pub decided: Option<(PrincipalId, Timestamp)>,
    /// Until when it can be decided.
    pub expires: Timestamp,
    /// Where it stands.
    pub state: OverrideState,
    /// Raised by one with every change.
    pub version: i64,
}

impl WipeOverrideRow {
    fn entering(&self, state: OverrideState) -> Change<'_> {
        Change::of(Noun::WipeOverride, What::StateChanged, self.id.as_str(), self.version + 1)
            .states(Some(self.state.as_str()), state.as_str())
    }
}

/// A request to record.
#[derive(Debug, Clone, Copy)]
pub struct WipeOverrideNew<'a> {
    /// Its id.
    pub id: &'a WipeOverrideId,
    /// The slot.
    pub slot_id: &'a SlotId,
    /// The use that was not proved.
    pub use_generation: i64,
    /// Why.
    pub reason: &'a str,
    /// Where the evidence is; may be empty.
    pub evidence_ref: &'a str,
    /// Who asks.
    pub requested_by: &'a PrincipalId,
    /// Until when it can be decided.
    pub expires: Timestamp,
}

macro_rules! selected {
    () => {
        "SELECT id, slot_id, use_generation, reason, evidence_ref, requested_by, requested_us, decided_by, decided_us, \
         expires_us, state, version FROM wipe_overrides"
    };
}

const INSERT: &str = "INSERT INTO wipe_overrides (id, slot_id, use_generation, reason, evidence_ref, requested_by, \
    requested_us, expires_us, state, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'requested', 1)";
const GET: &str = concat!(selected!(), " WHERE id = $1");
const LIST: &str = concat!(selected!(), " WHERE id > $1 ORDER BY id LIMIT $2");
const OF_USE: &str = concat!(selected!(), " WHERE slot_id = $1 AND use_generation = $2 ORDER BY id");
const DUE: &str =
    concat!(selected!(), " WHERE state = 'requested' AND expires_us <= $1 ORDER BY expires_us, id LIMIT $2");
const DECIDE: &str = "UPDATE wipe_overrides SET state = $3, decided_by = $4, decided_us = $5, version = version + 1 \
    WHERE id = $1 AND version = $2 AND state = 'requested' AND expires_us > $5";
const USE: &str = "UPDATE wipe_overrides SET state = 'used', version = version + 1 \
    WHERE id = $1 AND version = $2 AND state = 'approved'";
const EXPIRE: &str = "UPDATE wipe_overrides SET state = 'expired', version = version + 1 \
    WHERE id = $1 AND version = $2 AND state = 'requested'";

fn read(row: &Row) -> Result<WipeOverrideRow, StoreError> {
    Ok(WipeOverrideRow {
        id: row.parse(0)?,
        slot_id: row.parse(1)?,
        use_generation: row.int(2)?,
        reason: row.text(3)?.to_owned(),
        evidence_ref: row.text(4)?.to_owned(),
        requested_by: row.parse(5)?,
        requested: row.timestamp(6)?,
        decided: row.opt_parse(7)?.zip(row.opt_timestamp(8)?),
        expires: row.timestamp(9)?,
        state: row.parse(10)?,
        version: row.int(11)?,
    })
}

/// Records a request. A second open one for the same use of a slot is a `UniqueViolation`.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: WipeOverrideNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.slot_id.into(),
        new.use_generation.into(),
        new.reason.into(),
        new.evidence_ref.into(),
        new.requested_by.into(),
        stamp.now.into(),
        new.expires.into(),
    ];
    let change = Change::of(Noun::WipeOverride, What::Created, new.id.as_str(), 1)
        .states(None, OverrideState::Requested.as_str());
    record::created(tx, stamp, INSERT, &params, change)
}

/// One override.
pub fn get(tx: &mut Tx<'_>, id: &WipeOverrideId) -> Result<Option<WipeOverrideRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// Overrides in id order, decided ones too.
pub fn list(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<WipeOverrideRow>, StoreError> {
    tx.query(LIST, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// What was ever asked for one use of a slot, oldest first.
pub fn of_use(tx: &mut Tx<'_>, slot_id: &SlotId, use_generation: i64) -> Result<Vec<WipeOverrideRow>, StoreError> {
    tx.query(OF_USE, &[slot_id.into(), use_generation.into()])?.iter().map(read).collect()
}

/// Requests that nobody decided in time.
pub fn due(tx: &mut Tx<'_>, now: Timestamp, limit: i64) -> Result<Vec<WipeOverrideRow>, StoreError> {
    tx.query(DUE, &[now.into(), limit.into()])?.iter().map(read).collect()
}

/// Writes down how somebody decided on an open request, before it expires; otherwise `StaleVersion`. Whoever asked cannot
/// decide: the schema refuses it.
pub fn decide(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    row: &WipeOverrideRow,
    state: OverrideState,
    by: &PrincipalId,
) -> Result<i64, StoreError> {
    let params = [(&row.id).into(), row.version.into(), state.as_str().into(), by.into(), stamp.now.into()];
    record::changed(tx, stamp, DECIDE, &params, row.entering(state))
}

/// Marks an approved one as used.
pub fn use_up(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &WipeOverrideRow) -> Result<i64, StoreError> {
    record::changed(tx, stamp, USE, &[(&row.id).into(), row.version.into()], row.entering(OverrideState::Used))
}

/// Ends a request that nobody decided.
pub fn expire(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &WipeOverrideRow) -> Result<i64, StoreError> {
    record::changed(tx, stamp, EXPIRE, &[(&row.id).into(), row.version.into()], row.entering(OverrideState::Expired))
}
