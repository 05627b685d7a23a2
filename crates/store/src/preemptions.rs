//! Preemptions: each time that a workload was told to go, by whom, under which rule, and how it went. A workload has at
//! most one that is open; what is over stays, for its owner to read.

use std::collections::BTreeSet;

use model::workload::PreemptionRule;
use model::{PreemptionId, TenantId, Timestamp, WorkloadId, text::Slug};
use serde_json::json;

use crate::record::Stamp;
use crate::scope::Page;
use crate::value::keys;
use crate::workloads::{self, WorkloadRow};
use crate::{Row, StoreError, Tx};

/// One preemption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionRow {
    /// Its id.
    pub id: PreemptionId,
    /// Who was told to go.
    pub workload_id: WorkloadId,
    /// For whom; nobody when its queue is being emptied.
    pub by_workload_id: Option<WorkloadId>,
    /// The queue of that one.
    pub by_queue: Option<Slug>,
    /// The tenant of that one.
    pub by_tenant_id: Option<TenantId>,
    /// Under which rule.
    pub rule: PreemptionRule,
    /// How long its notice is.
    pub notice_s: i64,
    /// How long its guests may take to stop after that.
    pub grace_s: i64,
    /// When it was told.
    pub noticed: Timestamp,
    /// When it is stopped, unless it has saved its work before.
    pub stop: Timestamp,
    /// When its guest said that the work is saved.
    pub checkpointed: Option<Timestamp>,
    /// When its members were told to stop.
    pub stopped: Option<Timestamp>,
    /// When the last of them was gone; since then this is over.
    pub gone: Option<Timestamp>,
    /// What was decided, with its numbers, as JSON.
    pub body: String,
}

/// A preemption to record.
#[derive(Debug, Clone, Copy)]
pub struct PreemptionNew<'a> {
    /// Its id.
    pub id: &'a PreemptionId,
    /// For whom.
    pub by_workload_id: Option<&'a WorkloadId>,
    /// Under which rule.
    pub rule: PreemptionRule,
    /// How long the notice is.
    pub notice_s: i64,
    /// How long guests may take to stop after that.
    pub grace_s: i64,
    /// What was decided, with its numbers, as JSON.
    pub body: &'a str,
}

macro_rules! selected {
    () => {
        "SELECT p.id, p.workload_id, p.by_workload_id, p.rule, p.notice_s, p.grace_s, p.noticed_us, p.stop_us, \
         p.checkpointed_us, p.stopped_us, p.gone_us, p.body, b.queue, b.tenant_id FROM preemptions p \
         LEFT JOIN workloads b ON b.id = p.by_workload_id"
    };
}

const INSERT: &str = "INSERT INTO preemptions (id, workload_id, by_workload_id, rule, notice_s, grace_s, noticed_us, \
    stop_us, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const OPEN_OF: &str = concat!(
    selected!(),
    " WHERE p.gone_us IS NULL AND p.workload_id IN (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given) ",
    "ORDER BY p.workload_id"
);
const OF_WORKLOAD: &str = concat!(selected!(), " WHERE p.workload_id = $3 AND p.id > $1 ORDER BY p.id LIMIT $2");
const NEWEST_OF: &str = concat!(
    selected!(),
    " WHERE p.workload_id IN (SELECT given.key FROM json_each(json(CAST($1 AS TEXT))) AS given) AND NOT EXISTS ",
    "(SELECT 1 FROM preemptions n WHERE n.workload_id = p.workload_id AND n.id > p.id) ORDER BY p.workload_id"
);
const FOR_WAITING: &str = concat!(selected!(), " WHERE b.state = 'queued' ORDER BY p.id");
const CHECKPOINTED: &str = "UPDATE preemptions SET checkpointed_us = COALESCE(checkpointed_us, $2) \
    WHERE id = $1 AND gone_us IS NULL";
const STOPPED: &str = "UPDATE preemptions SET stopped_us = $2 WHERE id = $1 AND stopped_us IS NULL";
const GONE: &str = "UPDATE preemptions SET stopped_us = COALESCE(stopped_us, $2), gone_us = $2 \
    WHERE id = $1 AND gone_us IS NULL";

fn read(row: &Row) -> Result<PreemptionRow, StoreError> {
    Ok(PreemptionRow {
        id: row.parse(0)?,
        workload_id: row.parse(1)?,
        by_workload_id: row.opt_parse(2)?,
        rule: row.parse(3)?,
        notice_s: row.int(4)?,
        grace_s: row.int(5)?,
        noticed: row.timestamp(6)?,
        stop: row.timestamp(7)?,
        checkpointed: row.opt_timestamp(8)?,
        stopped: row.opt_timestamp(9)?,
        gone: row.opt_timestamp(10)?,
        body: row.text(11)?.to_owned(),
        by_queue: row.opt_parse(12)?,
        by_tenant_id: row.opt_parse(13)?,
    })
}

/// Tells a workload to go: records why, and moves it to `preempting` with an event that tells its owner by whom, under
/// which rule, with how much notice and when it is stopped. A workload of another tenant is told by its queue alone. Answers
/// the workload's new version.
pub fn insert(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    workload: &WorkloadRow,
    new: PreemptionNew<'_>,
) -> Result<i64, StoreError> {
    let stop = stamp.now.plus_seconds(new.notice_s);
    let params = [
        new.id.into(),
        (&workload.id).into(),
        new.by_workload_id.into(),
        new.rule.as_str().into(),
        new.notice_s.into(),
        new.grace_s.into(),
        stamp.now.into(),
        stop.into(),
        new.body.into(),
    ];
    tx.execute(INSERT, &params)?;
    let by = match new.by_workload_id {
        Some(by) => workloads::get(tx, by)?,
        None => None,
    };
    let detail = json!({
        "preemption_id": new.id,
        "by_workload_id": by.as_ref().filter(|by| by.tenant_id == workload.tenant_id).map(|by| &by.id),
        "by_queue": by.as_ref().map(|by| &by.queue),
        "rule": new.rule,
        "notice_s": new.notice_s,
        "grace_s": new.grace_s,
        "stop_at": stop,
    });
    workloads::preempt(tx, stamp, workload, new.rule.as_str(), &detail.to_string())
}

/// The open preemptions of workloads.
pub fn open_of(tx: &mut Tx<'_>, ids: &BTreeSet<WorkloadId>) -> Result<Vec<PreemptionRow>, StoreError> {
    tx.query(OPEN_OF, &[keys(ids.iter().map(WorkloadId::as_str))])?.iter().map(read).collect()
}

/// The newest preemption of each workload, open or over.
pub fn newest_of(tx: &mut Tx<'_>, ids: &BTreeSet<WorkloadId>) -> Result<Vec<PreemptionRow>, StoreError> {
    tx.query(NEWEST_OF, &[keys(ids.iter().map(WorkloadId::as_str))])?.iter().map(read).collect()
}

/// Everybody who was told to go for somebody who still waits, oldest first.
pub fn for_waiting(tx: &mut Tx<'_>) -> Result<Vec<PreemptionRow>, StoreError> {
    tx.query(FOR_WAITING, &[])?.iter().map(read).collect()
}

/// Every preemption of a workload, oldest first.
pub fn of_workload(tx: &mut Tx<'_>, id: &WorkloadId, page: Page<'_>) -> Result<Vec<PreemptionRow>, StoreError> {
    tx.query(OF_WORKLOAD, &[page.after.into(), page.rows().into(), id.into()])?.iter().map(read).collect()
}

/// Writes down that its guest said that the work is saved. The first word counts.
pub fn checkpointed(tx: &mut Tx<'_>, id: &PreemptionId, now: Timestamp) -> Result<(), StoreError> {
    tx.execute_one(CHECKPOINTED, &[id.into(), now.into()])
}

/// Writes down that its members were told to stop.
pub fn stopped(tx: &mut Tx<'_>, id: &PreemptionId, now: Timestamp) -> Result<(), StoreError> {
    tx.execute_one(STOPPED, &[id.into(), now.into()])
}

/// Writes down that its members are gone: it is over.
pub fn gone(tx: &mut Tx<'_>, id: &PreemptionId, now: Timestamp) -> Result<(), StoreError> {
    tx.execute_one(GONE, &[id.into(), now.into()])
}
