//! The one way to write down a change of a versioned object: the row and its event in one call.
//!
//! Every noun file creates, changes and deletes its objects through [`created`] and [`changed`]; both take the
//! statement *and* the description of the change, so a transition without its event cannot be written by accident. The
//! event is inserted unnumbered; the leader gives it its place in the dense sequence later (`events::number_batch`).
//! Time and id bits come from the caller in a [`Stamp`]: the store has no clock and no randomness of its own.

use model::event::{Change as What, Noun};
use model::{EventId, IdBits, ProjectId, TenantId, Timestamp};

use crate::{Batch, BulkInsert, Kind, StoreError, Tx, Value};

/// The moment of a transaction and a source of id bits, both brought by the caller.
pub struct Stamp<'a> {
    /// The moment that every row of the transaction carries.
    pub now: Timestamp,
    bits: &'a mut dyn FnMut() -> IdBits,
}

impl<'a> Stamp<'a> {
    /// A stamp for one transaction.
    pub fn new(now: Timestamp, bits: &'a mut dyn FnMut() -> IdBits) -> Self {
        Self { now, bits }
    }
    /// Fresh bits for one id.
    pub fn bits(&mut self) -> IdBits {
        (self.bits)()
    }
}

impl std::fmt::Debug for Stamp<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stamp").field("now", &self.now).finish_non_exhaustive()
    }
}

/// One change of one object, as its event will tell it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    /// What kind of object.
    pub noun: Noun,
    /// What happened to it.
    pub change: What,
    /// Which one.
    pub subject_id: &'a str,
    /// The version that this change makes.
    pub version: i64,
    /// Whose it is; `None` for what belongs to the platform.
    pub tenant_id: Option<&'a TenantId>,
    /// In which project, where there is one.
    pub project_id: Option<&'a ProjectId>,
    /// The state it left; only when the workflow state changed.
    pub state_from: Option<&'static str>,
    /// The state it entered; only when the workflow state changed, or at birth.
    pub state_to: Option<&'static str>,
    /// Why, in one stable word or short sentence.
    pub reason: Option<&'a str>,
    /// What else there is to tell, as JSON.
    pub detail: Option<&'a str>,
}

impl<'a> Change<'a> {
    /// A change of an object that belongs to the platform; tenant, states and reason are added by the caller.
    pub fn of(noun: Noun, change: What, subject_id: &'a str, version: i64) -> Self {
        Self {
            noun,
            change,
            subject_id,
            version,
            tenant_id: None,
            project_id: None,
            state_from: None,
            state_to: None,
            reason: None,
            detail: None,
        }
    }
    /// The same change inside a tenant, and a project where there is one.
    pub fn within(self, tenant_id: Option<&'a TenantId>, project_id: Option<&'a ProjectId>) -> Self {
        Self { tenant_id, project_id, ..self }
    }
    /// The same change with its states.
    pub fn states(self, from: Option<&'static str>, to: &'static str) -> Self {
        Self { state_from: from, state_to: Some(to), ..self }
    }
    /// The same change with its reason.
    pub fn because(self, reason: Option<&'a str>) -> Self {
        Self { reason, ..self }
    }
}

static EVENTS: BulkInsert = BulkInsert {
    table: "events",
    columns: &[
        ("id", Kind::Text),
        ("noun", Kind::Text),
        ("change", Kind::Text),
        ("subject_id", Kind::Text),
        ("object_version", Kind::Int),
        ("tenant_id", Kind::Text),
        ("project_id", Kind::Text),
        ("state_from", Kind::Text),
        ("state_to", Kind::Text),
        ("reason", Kind::Text),
        ("at_us", Kind::Int),
        ("detail", Kind::Text),
    ],
};

/// Inserts a new object (version 1) and its `created` event.
pub(crate) fn created(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    insert: &'static str,
    params: &[Value],
    change: Change<'_>,
) -> Result<(), StoreError> {
    debug_assert_eq!(change.version, 1, "a new object starts at version 1");
    tx.execute(insert, params)?;
    write(tx, stamp, &[change])
}

/// Inserts new objects and their `created` events, each in one statement.
pub(crate) fn created_all(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    inserts: &Batch,
    changes: &[Change<'_>],
) -> Result<(), StoreError> {
    debug_assert_eq!(inserts.len(), changes.len(), "one event for each new object");
    tx.execute_bulk(inserts)?;
    write(tx, stamp, changes)
}

/// Runs a compare-and-swap statement that must touch exactly one row, and records its event. Answers the new version.
///
/// The statement names the expected version in its WHERE and raises it by one; a row that has moved on, or that fails
/// another guard of the statement, is `StaleVersion` and nothing is recorded.
pub(crate) fn changed(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    update: &'static str,
    params: &[Value],
    change: Change<'_>,
) -> Result<i64, StoreError> {
    tx.execute_one(update, params)?;
    write(tx, stamp, &[change])?;
    Ok(change.version)
}

/// Runs a guarded bulk update that must touch every row of the batch, and records all events. `StaleVersion` when a
/// single row has moved on: the caller gives up the transaction, or the savepoint, and with it the whole batch.
pub(crate) fn changed_all(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    updates: &Batch,
    changes: &[Change<'_>],
) -> Result<(), StoreError> {
    debug_assert_eq!(updates.len(), changes.len(), "one event for each changed object");
    tx.post_bulk(updates)?;
    write(tx, stamp, changes)
}

const EVENT: &str = "INSERT INTO events (id, noun, change, subject_id, object_version, tenant_id, project_id, \
     state_from, state_to, reason, at_us, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/// One event travels with whatever comes next; several go together.
fn write(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, changes: &[Change<'_>]) -> Result<(), StoreError> {
    if let [change] = changes {
        return match event(stamp, change) {
            Some(values) => tx.post(EVENT, &values),
            None => Ok(()),
        };
    }
    let mut events = Batch::insert(&EVENTS);
    changes.iter().filter_map(|change| event(stamp, change)).for_each(|values| events.push(values));
    tx.post_bulk(&events)
}

fn event(stamp: &mut Stamp<'_>, change: &Change<'_>) -> Option<[Value; 12]> {
    if model::planted!(EventLost) && change.noun == Noun::Allocation && change.change == What::StateChanged {
        return None;
    }
    let id = EventId::from_parts(stamp.now, stamp.bits());
    Some([
        id.into(),
        change.noun.as_str().into(),
        change.change.as_str().into(),
        change.subject_id.into(),
        change.version.into(),
        change.tenant_id.into(),
        change.project_id.into(),
        change.state_from.into(),
        change.state_to.into(),
        change.reason.into(),
        stamp.now.into(),
        change.detail.into(),
    ])
}
