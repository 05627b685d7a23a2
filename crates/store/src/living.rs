//! What everything that lives has in common: when the driver looks at it next, what it waits for, and how often it
//! failed.
//!
//! Waits, pokes and faults are *not* transitions: they raise no version and write no event. A wait is only stored for
//! the version it was decided on, and it never buries a poke that came in between: a poke always changes `look_us`, and
//! a wait only moves the `look_us` it has seen.
//!
//! ```text
//! look_us:  NULL (rests) ── poke ──▶ now ── set_wait ──▶ now + look_again ── due ──▶ …
//!                                     ├──── look_again (all is well, no wait) ──▶ now + after ── due ──▶ …
//!                                     └──── rest (Forget) ──▶ NULL
//! ```

use model::Timestamp;
use model::lifecycle::Wait;

use crate::{Row, StoreError, Tx};

/// The tables of things that live, that is, that the driver looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Living {
    /// `tenants`
    Tenants,
    /// `projects`
    Projects,
    /// `nodes`
    Nodes,
    /// `node_resource_slots`
    Slots,
    /// `workloads`
    Workloads,
    /// `allocations`
    Allocations,
    /// `node_tasks`
    Tasks,
}

impl Living {
    /// Every living table, owners before what they own.
    pub const ALL: &'static [Self] =
        &[Self::Tenants, Self::Projects, Self::Nodes, Self::Slots, Self::Workloads, Self::Allocations, Self::Tasks];

    const fn texts(self) -> &'static Texts {
        match self {
            Self::Tenants => &TENANTS,
            Self::Projects => &PROJECTS,
            Self::Nodes => &NODES,
            Self::Slots => &SLOTS,
            Self::Workloads => &WORKLOADS,
            Self::Allocations => &ALLOCATIONS,
            Self::Tasks => &TASKS,
        }
    }
}

/// The shared columns of a living row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Since when it is in its state.
    pub state_since: Timestamp,
    /// What it waits for, where it does.
    pub wait: Option<StoredWait>,
    /// When the driver looks next; `None` rests.
    pub look: Option<Timestamp>,
    /// How often in a row looking at it failed.
    pub faults: i64,
    /// The last failure, for people.
    pub last_fault: Option<String>,
}

/// A wait as it was stored and is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWait {
    /// A stable word.
    pub code: String,
    /// One sentence.
    pub because: String,
    /// `file:line` of the decision.
    pub source: String,
    /// The end of the budget; later than this is an alert.
    pub until: Timestamp,
}

/// The columns of [`Life`], in the order that [`Life::read`] expects.
macro_rules! life_columns {
    ($alias:literal) => {
        concat!(
            $alias,
            ".state_since_us, ",
            $alias,
            ".wait_code, ",
            $alias,
            ".wait_because, ",
            $alias,
            ".wait_source, ",
            $alias,
            ".wait_until_us, ",
            $alias,
            ".look_us, ",
            $alias,
            ".faults, ",
            $alias,
            ".last_fault"
        )
    };
}

/// What every state change does to the shared columns: the wait ends, the faults are forgotten, the driver looks at
/// once.
macro_rules! life_begins_anew {
    ($now:literal) => {
        concat!(
            "state_since_us = ",
            $now,
            ", wait_code = NULL, wait_because = NULL, wait_source = NULL, wait_until_us = NULL, look_us = ",
            $now,
            ", faults = 0, last_fault = NULL"
        )
    };
}

/// What every wish does to the shared columns: the driver looks at once, and its `look_us` always moves.
macro_rules! look_at_once {
    ($now:literal) => {
        concat!("look_us = CASE WHEN look_us <= ", $now, " THEN look_us - 1 ELSE ", $now, " END")
    };
}

pub(crate) use {life_begins_anew, life_columns, look_at_once};

impl Life {
    /// Reads the shared columns, which start at column `at`.
    pub(crate) fn read(row: &Row, at: usize) -> Result<Self, StoreError> {
        let wait = match row.opt_text(at + 1)? {
            None => None,
            Some(code) => Some(StoredWait {
                code: code.to_owned(),
                because: row.opt_text(at + 2)?.unwrap_or_default().to_owned(),
                source: row.opt_text(at + 3)?.unwrap_or_default().to_owned(),
                until: row.opt_timestamp(at + 4)?.unwrap_or_default(),
            }),
        };
        Ok(Self {
            state_since: row.timestamp(at)?,
            wait,
            look: row.opt_timestamp(at + 5)?,
            faults: row.int(at + 6)?,
            last_fault: row.opt_text(at + 7)?.map(str::to_owned),
        })
    }
}

/// A living row as the driver saw it when it decided: what a wait is checked against.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Which row.
    pub id: &'a str,
    /// Its version.
    pub version: i64,
    /// Its next look.
    pub look: Option<Timestamp>,
}

/// A row whose look is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Which row.
    pub id: String,
    /// Since when it is due.
    pub look: Timestamp,
    /// How often in a row looking at it failed.
    pub faults: i64,
}

/// A wait that has outlived its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdue {
    /// Which row.
    pub id: String,
    /// Its state.
    pub state: String,
    /// Since when it is in that state.
    pub state_since: Timestamp,
    /// What it waits for.
    pub wait: StoredWait,
}

struct Texts {
    due: &'static str,
    set_wait: &'static str,
    end_wait: &'static str,
    poke: &'static str,
    fault: &'static str,
    overdue: &'static str,
    overdue_count: &'static str,
    next_look: &'static str,
    census: &'static str,
}

macro_rules! texts {
    ($table:literal) => {
        Texts {
            due: concat!(
                "SELECT id, look_us, faults FROM ",
                $table,
                " WHERE look_us IS NOT NULL AND look_us <= $1 ORDER BY look_us, id LIMIT $2"
            ),
            set_wait: concat!(
                "UPDATE ",
                $table,
                " SET wait_code = $4, wait_because = $5, wait_source = $6, wait_until_us = CASE WHEN wait_code = $4 ",
                "THEN wait_until_us ELSE $7 END, look_us = CASE WHEN look_us IS NOT DISTINCT FROM $3 THEN $8 ELSE ",
                "look_us END, faults = 0, last_fault = NULL WHERE id = $1 AND version = $2"
            ),
            end_wait: concat!(
                "UPDATE ",
                $table,
                " SET wait_code = NULL, wait_because = NULL, wait_source = NULL, wait_until_us = NULL, look_us = CASE ",
                "WHEN look_us IS NOT DISTINCT FROM $3 THEN $4 ELSE look_us END, faults = 0, last_fault = NULL ",
                "WHERE id = $1 AND version = $2"
            ),
            poke: concat!("UPDATE ", $table, " SET ", look_at_once!("$2"), " WHERE id = $1"),
            fault: concat!("UPDATE ", $table, " SET faults = faults + 1, last_fault = $2, look_us = $3 WHERE id = $1"),
            overdue: concat!(
                "SELECT id, state, wait_code, wait_because, wait_source, wait_until_us, state_since_us FROM ",
                $table,
                " WHERE look_us IS NOT NULL AND wait_until_us < $1 ORDER BY wait_until_us, id LIMIT $2"
            ),
            overdue_count: concat!(
                "SELECT COUNT(*) FROM ",
                $table,
                " WHERE look_us IS NOT NULL AND wait_until_us < $1"
            ),
            next_look: concat!("SELECT MIN(look_us) FROM ", $table, " WHERE look_us IS NOT NULL"),
            census: concat!("SELECT state, COUNT(*) FROM ", $table, " GROUP BY state ORDER BY state"),
        }
    };
}

const TENANTS: Texts = texts!("tenants");
const PROJECTS: Texts = texts!("projects");
const NODES: Texts = Texts {
    // A node whose machine is a tenant's is silent by right; whoever counts silent nodes means others.
    census: "SELECT told, COUNT(*) FROM (SELECT CASE WHEN handed_over_us IS NOT NULL THEN 'handed_over' ELSE state END \
             AS told FROM nodes) AS counted GROUP BY told ORDER BY told",
    ..texts!("nodes")
};
const SLOTS: Texts = texts!("node_resource_slots");
const WORKLOADS: Texts = texts!("workloads");
const ALLOCATIONS: Texts = texts!("allocations");
const TASKS: Texts = texts!("node_tasks");

/// What is due for a look, longest waiting first.
pub fn due(tx: &mut Tx<'_>, living: Living, now: Timestamp, limit: i64) -> Result<Vec<Due>, StoreError> {
    let rows = tx.query(living.texts().due, &[now.into(), limit.into()])?;
    rows.iter()
        .map(|row| Ok(Due { id: row.text(0)?.to_owned(), look: row.timestamp(1)?, faults: row.int(2)? }))
        .collect()
}

/// Stores a wait. `StaleVersion` when the row has moved on since it was seen. The budget of a wait with the same code
/// runs on.
pub fn set_wait(
    tx: &mut Tx<'_>,
    living: Living,
    seen: Seen<'_>,
    wait: &Wait,
    now: Timestamp,
) -> Result<(), StoreError> {
    let until = now.plus_seconds(wait.at_most_s);
    let look = now.plus_seconds(wait.look_again_s.max(1));
    tx.execute_one(
        living.texts().set_wait,
        &[
            seen.id.into(),
            seen.version.into(),
            seen.look.into(),
            wait.code.as_str().into(),
            wait.because.as_str().into(),
            wait.source.as_str().into(),
            until.into(),
            look.into(),
        ],
    )
}

/// Lets a row rest until somebody pokes it. `StaleVersion` when the row has moved on since it was seen.
pub fn rest(tx: &mut Tx<'_>, living: Living, seen: Seen<'_>) -> Result<(), StoreError> {
    end_wait(tx, living, seen, None)
}

/// Ends the wait of a row, if it has one, and looks at it again at `look`. `StaleVersion` when the row has moved on since
/// it was seen.
pub fn look_again(tx: &mut Tx<'_>, living: Living, seen: Seen<'_>, look: Timestamp) -> Result<(), StoreError> {
    end_wait(tx, living, seen, Some(look))
}

fn end_wait(tx: &mut Tx<'_>, living: Living, seen: Seen<'_>, look: Option<Timestamp>) -> Result<(), StoreError> {
    tx.execute_one(living.texts().end_wait, &[seen.id.into(), seen.version.into(), seen.look.into(), look.into()])
}

/// Asks the driver to look at a row at once. Changes only *when* it looks; an absent row is no error.
pub fn poke(tx: &mut Tx<'_>, living: Living, id: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(living.texts().poke, &[id.into(), now.into()])?;
    Ok(())
}

/// The longest pause between two looks at a row that keeps failing, in seconds.
pub const FAULT_PAUSE_S_MAX: i64 = 300;

/// Records that looking at a row failed, and sets it aside for a pause that doubles with every fault in a row.
/// Not bound to a version: whatever the row is now, looking at it again at once would fail others.
pub fn fault(
    tx: &mut Tx<'_>,
    living: Living,
    id: &str,
    faults_before: i64,
    detail: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let pause_s = (1_i64 << faults_before.clamp(0, 9)).min(FAULT_PAUSE_S_MAX);
    let look = now.plus_seconds(pause_s);
    tx.execute(living.texts().fault, &[id.into(), clipped(detail).into(), look.into()])?;
    Ok(())
}

/// Waits that have outlived their budget, longest first.
pub fn overdue(tx: &mut Tx<'_>, living: Living, now: Timestamp, limit: i64) -> Result<Vec<Overdue>, StoreError> {
    let rows = tx.query(living.texts().overdue, &[now.into(), limit.into()])?;
    let read = |row: &Row| {
        Ok(Overdue {
            id: row.text(0)?.to_owned(),
            state: row.text(1)?.to_owned(),
            state_since: row.timestamp(6)?,
            wait: StoredWait {
                code: row.opt_text(2)?.unwrap_or_default().to_owned(),
                because: row.opt_text(3)?.unwrap_or_default().to_owned(),
                source: row.opt_text(4)?.unwrap_or_default().to_owned(),
                until: row.timestamp(5)?,
            },
        })
    };
    rows.iter().map(read).collect()
}

/// How many waits have outlived their budget.
pub fn overdue_count(tx: &mut Tx<'_>, living: Living, now: Timestamp) -> Result<i64, StoreError> {
    tx.query_one(living.texts().overdue_count, &[now.into()])?.int(0)
}

/// When the next look is due; `None` when everything rests.
pub fn next_look(tx: &mut Tx<'_>, living: Living) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one(living.texts().next_look, &[])?.opt_timestamp(0)
}

/// How many rows are in each state. Nodes whose machine is a tenant's are counted apart, as `handed_over`.
pub fn census(tx: &mut Tx<'_>, living: Living) -> Result<Vec<(String, i64)>, StoreError> {
    let rows = tx.query(living.texts().census, &[])?;
    rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?))).collect()
}

// A fault text may carry anything an outside party said; keep the row small.
fn clipped(detail: &str) -> &str {
    const BYTES_MAX: usize = 500;
    if detail.len() <= BYTES_MAX {
        return detail;
    }
    let end = (0..=BYTES_MAX).rev().find(|at| detail.is_char_boundary(*at)).unwrap_or(0);
    &detail[..end]
}

/// What every bulk move to another state does besides: the wait and the faults of the old one are over.
macro_rules! wait_ends {
    () => {
        "wait_code = NULL, wait_because = NULL, wait_source = NULL, wait_until_us = NULL, faults = 0, \
         last_fault = NULL, version = version + 1"
    };
}
pub(crate) use wait_ends;
