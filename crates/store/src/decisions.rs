//! Decisions: answers with their reasons, stored when they were made and shown on request. A decision is never changed;
//! it is small by rule, so that explaining a refusal stays cheap.

use model::{DecisionId, Timestamp};

use crate::{Batch, BulkInsert, Kind, Row, StoreError, Tx, Value};

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its id.
    pub id: DecisionId,
    /// About what: the id of an allocation, tenant, ….
    pub subject_id: String,
    /// The answer in one word.
    pub outcome: String,
    /// The reasons, check by check, as JSON.
    pub body: String,
    /// Which picture of the fleet it was made on.
    pub snapshot_version: i64,
    /// When it was made.
    pub at: Timestamp,
}

/// A longer body is refused.
pub const BODY_BYTES_MAX: usize = 1024;

macro_rules! selected {
    () => {
        "SELECT id, subject_id, outcome, body, snapshot_version, at_us FROM decisions"
    };
}

static INSERTS: BulkInsert = BulkInsert {
    table: "decisions",
    columns: &[
        ("id", Kind::Text),
        ("subject_id", Kind::Text),
        ("outcome", Kind::Text),
        ("body", Kind::Text),
        ("snapshot_version", Kind::Int),
        ("at_us", Kind::Int),
    ],
};
const INSERT: &str = "INSERT INTO decisions (id, subject_id, outcome, body, snapshot_version, at_us) \
    VALUES ($1, $2, $3, $4, $5, $6)";
const LATEST: &str = concat!(selected!(), " WHERE subject_id = $1 ORDER BY id DESC LIMIT 1");
const OF_SUBJECT: &str = concat!(selected!(), " WHERE subject_id = $1 AND id > $2 ORDER BY id LIMIT $3");

fn read(row: &Row) -> Result<DecisionRow, StoreError> {
    Ok(DecisionRow {
        id: row.parse(0)?,
        subject_id: row.text(1)?.to_owned(),
        outcome: row.text(2)?.to_owned(),
        body: row.text(3)?.to_owned(),
        snapshot_version: row.int(4)?,
        at: row.timestamp(5)?,
    })
}

fn values(decision: &DecisionRow) -> Result<[Value; 6], StoreError> {
    if decision.body.len() > BODY_BYTES_MAX {
        return Err(StoreError::CheckViolation { constraint: "decisions.body".into() });
    }
    Ok([
        (&decision.id).into(),
        decision.subject_id.as_str().into(),
        decision.outcome.as_str().into(),
        decision.body.as_str().into(),
        decision.snapshot_version.into(),
        decision.at.into(),
    ])
}

/// Stores a decision. A body over [`BODY_BYTES_MAX`] is a `CheckViolation`.
pub fn insert(tx: &mut Tx<'_>, decision: &DecisionRow) -> Result<(), StoreError> {
    tx.execute(INSERT, &values(decision)?)?;
    Ok(())
}

/// Stores many decisions, under the same rule.
pub fn insert_all(tx: &mut Tx<'_>, decisions: &[DecisionRow]) -> Result<(), StoreError> {
    let mut rows = Batch::insert(&INSERTS);
    for decision in decisions {
        rows.push(values(decision)?);
    }
    tx.post_bulk(&rows)
}

/// The newest decision about something.
pub fn latest(tx: &mut Tx<'_>, subject_id: &str) -> Result<Option<DecisionRow>, StoreError> {
    tx.query_opt(LATEST, &[subject_id.into()])?.as_ref().map(read).transpose()
}

/// Decisions about something in the order they were made.
pub fn of_subject(
    tx: &mut Tx<'_>,
    subject_id: &str,
    page: crate::scope::Page<'_>,
) -> Result<Vec<DecisionRow>, StoreError> {
    tx.query(OF_SUBJECT, &[subject_id.into(), page.after.into(), page.rows().into()])?.iter().map(read).collect()
}
