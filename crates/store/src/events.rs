//! Events: one record for each committed transition, in one dense sequence.
//!
//! Whoever commits a change inserts its event unnumbered (`record`). The leader numbers what it finds, in batches:
//! without gaps, and for each object in the order of its versions. A number, once given, never changes, so "everything
//! after seq n" is a cursor that survives restarts. Readers see numbered events only. Delivery is at least once; the
//! event id is what to dedupe on.

use model::event::{Change, Noun};
use model::{EventId, ProjectId, TenantId, Timestamp, WorkloadId};

use crate::scope::{PAGE_ROWS_MAX, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One numbered event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its id, to dedupe on.
    pub id: EventId,
    /// Its place in the sequence, from 1.
    pub seq: i64,
    /// What kind of object.
    pub noun: Noun,
    /// What happened to it.
    pub change: Change,
    /// Which object.
    pub subject_id: String,
    /// The version that the change made.
    pub object_version: i64,
    /// Whose it is.
    pub tenant_id: Option<TenantId>,
    /// In which project.
    pub project_id: Option<ProjectId>,
    /// The state it left.
    pub state_from: Option<String>,
    /// The state it entered.
    pub state_to: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When it was committed, by the clock of whoever committed it.
    pub at: Timestamp,
    /// What else there is to tell, as JSON.
    pub detail: Option<String>,
}

/// Events after a cursor, as far as a scope may see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The visible events, in sequence.
    pub events: Vec<EventRow>,
    /// The cursor to go on from: everything up to here was looked at, visible or not.
    pub through: i64,
}

macro_rules! selected {
    () => {
        "SELECT e.id, e.seq, e.noun, e.change, e.subject_id, e.object_version, e.tenant_id, e.project_id, e.state_from, \
         e.state_to, e.reason, e.at_us, e.detail FROM events e"
    };
}
macro_rules! after {
    () => {
        concat!(selected!(), " WHERE e.seq > $1 AND e.seq <= $3")
    };
}

const HEAD: &str = "SELECT COALESCE(MAX(seq), 0) FROM events";
const UNNUMBERED: &str = "SELECT COUNT(*) FROM events WHERE seq IS NULL";
const OLDEST: &str = "SELECT COALESCE(MIN(seq), 0) FROM events";
const WAITING: &str = "SELECT id FROM events WHERE seq IS NULL LIMIT 1";
const GET: &str = concat!(selected!(), " WHERE e.id = $1 AND e.seq IS NOT NULL");
const LIST: &str = concat!(after!(), " ORDER BY e.seq LIMIT $2");
const LIST_SCOPED: &str = concat!(
    after!(),
    " AND ",
    opened_by_membership!("e.tenant_id", "e.project_id", "$4", "$5"),
    " ORDER BY e.seq LIMIT $2"
);
// An object has few events, and an index finds them: `COALESCE` keeps planners from reading the sequence instead.
macro_rules! about {
    () => {
        concat!(selected!(), " WHERE e.subject_id = $4 AND COALESCE(e.seq, 0) > $1 AND COALESCE(e.seq, 0) <= $3")
    };
}
const ABOUT: &str = concat!(about!(), " ORDER BY e.seq LIMIT $2");
const ABOUT_SCOPED: &str = concat!(
    about!(),
    " AND ",
    opened_by_membership!("e.tenant_id", "e.project_id", "$5", "$6"),
    " ORDER BY e.seq LIMIT $2"
);
const OF_SUBJECT: &str = concat!(
    selected!(),
    " WHERE e.subject_id = $1 AND e.seq IS NOT NULL AND e.object_version > $2 ",
    "ORDER BY e.object_version LIMIT $3"
);
// `taken` are the oldest unnumbered events; `whole` adds earlier versions of the same objects that a skewed clock put
// later; `placed` moves each version behind the ones before it. Both engines number in the one order that comes out.
// `COALESCE` keeps planners, which take the unnumbered events for few, from reading all of them for each object.
const NUMBER: &str = "WITH taken AS (SELECT subject_id, object_version FROM events WHERE seq IS NULL \
      ORDER BY at_us, id LIMIT $1), \
    tops AS (SELECT subject_id, MAX(object_version) AS top FROM taken GROUP BY subject_id), \
    whole AS (SELECT e.id, e.object_version, \
        MAX(e.at_us) OVER (PARTITION BY e.subject_id ORDER BY e.object_version) AS placed_us \
      FROM events e JOIN tops t ON t.subject_id = e.subject_id AND e.object_version <= t.top \
      WHERE COALESCE(e.seq, 0) = 0), \
    numbered AS (SELECT id, ROW_NUMBER() OVER (ORDER BY placed_us, object_version, id) AS place FROM whole) \
    UPDATE events SET seq = $2 + numbered.place FROM numbered WHERE events.id = numbered.id";

// Of an allocation only its end: until then it holds what it held.
macro_rules! touched {
    ($slots:literal) => {
        concat!(
            "SELECT noun, subject_id, object_version FROM events WHERE (noun IN ('node', 'pool') OR (noun = 'slot'",
            $slots,
            ") OR (noun = 'allocation' AND state_to IN ('released', 'failed'))) AND "
        )
    };
}
const TOUCHED: &str = concat!(touched!(""), "seq > $1 UNION ALL ", touched!(""), "seq IS NULL");
const TOUCHED_BY_OTHERS: &str = concat!(
    touched!(" AND reason IS DISTINCT FROM 'placed'"),
    "seq > $1 UNION ALL ",
    touched!(" AND reason IS DISTINCT FROM 'placed'"),
    "seq IS NULL"
);

fn read(row: &Row) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        id: row.parse(0)?,
        seq: row.int(1)?,
        noun: row.parse(2)?,
        change: row.parse(3)?,
        subject_id: row.text(4)?.to_owned(),
        object_version: row.int(5)?,
        tenant_id: row.opt_parse(6)?,
        project_id: row.opt_parse(7)?,
        state_from: row.opt_text(8)?.map(str::to_owned),
        state_to: row.opt_text(9)?.map(str::to_owned),
        reason: row.opt_text(10)?.map(str::to_owned),
        at: row.timestamp(11)?,
        detail: row.opt_text(12)?.map(str::to_owned),
    })
}

/// Numbers about `limit` events that have no number yet (earlier versions of the same objects come along); says how
/// many. Only the leader calls it, and checks its epoch in the same transaction: two numberers would collide on the
/// unique `seq`.
pub fn number_batch(tx: &mut Tx<'_>, limit: i64) -> Result<u64, StoreError> {
    let head = head(tx)?;
    tx.execute(NUMBER, &[limit.into(), head.into()])
}

/// Whether an event waits for its number.
pub fn waiting(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.query_opt(WAITING, &[])?.is_some())
}

/// The last number given; 0 when there is none.
pub fn head(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.query_one(HEAD, &[])?.int(0)
}

/// How many events were ever committed, numbered or not: the same as before means that nothing has changed.
pub fn total(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    Ok(head(tx)? + tx.query_one(UNNUMBERED, &[])?.int(0)?)
}

/// The first number that is still kept; 0 when there is none.
pub fn oldest(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.query_one(OLDEST, &[])?.int(0)
}

/// The events after a number that a scope may see, at most `limit`.
pub fn list(tx: &mut Tx<'_>, scope: &Scope, after: i64, limit: i64) -> Result<EventPage, StoreError> {
    listed(tx, scope, (after, limit), None)
}

/// The same of one object only.
pub fn list_about(
    tx: &mut Tx<'_>,
    scope: &Scope,
    subject_id: &str,
    after: i64,
    limit: i64,
) -> Result<EventPage, StoreError> {
    listed(tx, scope, (after, limit), Some(subject_id))
}

fn listed(
    tx: &mut Tx<'_>,
    scope: &Scope,
    (after, limit): (i64, i64),
    subject_id: Option<&str>,
) -> Result<EventPage, StoreError> {
    let head = head(tx)?;
    let limit = limit.clamp(1, PAGE_ROWS_MAX);
    let mut params = vec![after.into(), limit.into(), head.into()];
    let (all, scoped) = match subject_id {
        None => (LIST, LIST_SCOPED),
        Some(subject_id) => {
            params.push(subject_id.into());
            (ABOUT, ABOUT_SCOPED)
        }
    };
    let (sql, params) = scope.choose(all, scoped, params);
    let events = tx.query(sql, &params)?.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let full = i64::try_from(events.len()).is_ok_and(|count| count >= limit);
    let through = match events.last() {
        Some(last) if full => last.seq,
        _ => head.max(after),
    };
    Ok(EventPage { events, through })
}

/// One event by its id, if it has its number.
pub fn get(tx: &mut Tx<'_>, id: &EventId) -> Result<Option<EventRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// Something that was changed, and the version that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// What kind of thing.
    pub noun: Noun,
    /// Which one.
    pub subject_id: String,
    /// Its version after the change.
    pub version: i64,
}

/// Whether slots that placement reserved are among what was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// For everybody else.
    Included,
    /// For placement itself, which knows.
    LeftOut,
}

/// What placement looks at and was changed after a number: nodes, slots, pools, and allocations that ended. What has no number
/// yet comes along, and comes again once it has one. Answers the number to go on from as well.
pub fn touched_since(tx: &mut Tx<'_>, after: i64, placed: Placed) -> Result<(i64, Vec<Touched>), StoreError> {
    let sql = match placed {
        Placed::Included => TOUCHED,
        Placed::LeftOut => TOUCHED_BY_OTHERS,
    };
    let head = head(tx)?;
    let read =
        |row: &Row| Ok(Touched { noun: row.parse(0)?, subject_id: row.text(1)?.to_owned(), version: row.int(2)? });
    let touched = tx.query(sql, &[after.into()])?.iter().map(read).collect::<Result<_, _>>()?;
    Ok((head, touched))
}

const TOUCHED_WORKLOADS: &str = "SELECT subject_id, object_version FROM events WHERE noun = 'workload' AND seq > $1 \
    UNION ALL SELECT subject_id, object_version FROM events WHERE noun = 'workload' AND seq IS NULL";

/// The workloads that were changed after a number, with their versions after it; what has no number yet comes along. Answers
/// the number to go on from as well.
pub fn touched_workloads(tx: &mut Tx<'_>, after: i64) -> Result<(i64, Vec<(WorkloadId, i64)>), StoreError> {
    let head = head(tx)?;
    let read = |row: &Row| Ok((row.parse(0)?, row.int(1)?));
    let touched = tx.query(TOUCHED_WORKLOADS, &[after.into()])?.iter().map(read).collect::<Result<_, _>>()?;
    Ok((head, touched))
}

/// The timeline of one object after a version, at most `limit` events.
pub fn of_subject(
    tx: &mut Tx<'_>,
    subject_id: &str,
    after_version: i64,
    limit: i64,
) -> Result<Vec<EventRow>, StoreError> {
    let params = [subject_id.into(), after_version.into(), limit.clamp(1, PAGE_ROWS_MAX).into()];
    tx.query(OF_SUBJECT, &params)?.iter().map(read).collect()
}
