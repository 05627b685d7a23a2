//! What happened to one allocation: its own events and those of the orders that were given for it, in the one sequence of all
//! events. Nothing is stored for this; a position is an event's number.

use model::event::{Change, Noun};
use model::task::TaskKind;
use model::{AllocationId, Timestamp};

use crate::{Row, StoreError, Tx};

/// One numbered event about an allocation, or about an order given for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// Its number.
    pub seq: i64,
    /// An allocation or a task.
    pub noun: Noun,
    /// What happened.
    pub change: Change,
    /// Which allocation or order.
    pub subject_id: String,
    /// The state it entered.
    pub state_to: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
    /// What kind of order, for events of orders.
    pub kind: Option<TaskKind>,
    /// Which try, for events of orders.
    pub attempt: Option<i64>,
}

macro_rules! about_allocation {
    () => {
        // Few subjects, each looked up in the index of its versions.
        "e.subject_id IN (SELECT CAST($1 AS TEXT) UNION ALL SELECT t.id FROM node_tasks t WHERE t.allocation_id = $1)"
    };
}

const OF_ALLOCATION: &str = concat!(
    "SELECT e.seq, e.noun, e.change, e.subject_id, e.state_to, e.reason, e.at_us, k.kind, k.attempt FROM events e ",
    "LEFT JOIN node_tasks k ON k.id = e.subject_id WHERE (e.seq > $2 OR e.at_us = $5) AND e.seq <= $3 AND ",
    about_allocation!(),
    " ORDER BY e.seq LIMIT $4"
);
// The last one by number: the clocks of two leaders may disagree about what is late.
const MOMENT: &str = concat!(
    "SELECT m.at_us FROM events m WHERE m.seq = (SELECT MAX(e.seq) FROM events e WHERE e.seq <= $2 AND ",
    about_allocation!(),
    ")"
);
const LAST: &str =
    "SELECT MAX(seq) FROM events WHERE subject_id = $1 AND state_to IN ('released', 'refused', 'failed')";

/// The events after a number and up to another, and before them those of the moment in which the last one up to that number
/// happened: what happened in one moment can only be understood together. At most `limit` in all.
pub fn of_allocation(
    tx: &mut Tx<'_>,
    id: &AllocationId,
    (after, through): (i64, i64),
    limit: i64,
) -> Result<Vec<TimelineRow>, StoreError> {
    let read = |row: &Row| {
        Ok(TimelineRow {
            seq: row.int(0)?,
            noun: row.parse(1)?,
            change: row.parse(2)?,
            subject_id: row.text(3)?.to_owned(),
            state_to: row.opt_text(4)?.map(str::to_owned),
            reason: row.opt_text(5)?.map(str::to_owned),
            at: row.timestamp(6)?,
            kind: row.opt_parse(7)?,
            attempt: row.opt_int(8)?,
        })
    };
    let moment = tx.query_opt(MOMENT, &[id.into(), after.into()])?.map(|row| row.timestamp(0)).transpose()?;
    // No event has happened at a negative time.
    let moment = moment.map_or(-1, Timestamp::as_micros);
    let params = [id.into(), after.into(), through.into(), limit.into(), moment.into()];
    tx.query(OF_ALLOCATION, &params)?.iter().map(read).collect()
}

/// The number of the event that ended an allocation, once it has one.
pub fn end_of(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Option<i64>, StoreError> {
    tx.query_one(LAST, &[id.into()])?.opt_int(0)
}
