//! The newest word of each kind that a host gave when it was ordered to plan for a guest or to compare itself with its claims.
//! Only the newest is kept: what was found before and is not found again is no longer so.

use model::task::TaskKind;
use model::{NodeId, TaskId, Timestamp};

use crate::{StoreError, Tx};

/// A report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// The order that asked for it.
    pub task_id: TaskId,
    /// What the host said, as JSON.
    pub body: String,
    /// When it came in.
    pub at: Timestamp,
}

const GET: &str = "SELECT task_id, body, at_us FROM node_reports WHERE node_id = $1 AND kind = $2";
const PUT: &str = "INSERT INTO node_reports (node_id, kind, task_id, body, at_us) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (node_id, kind) DO UPDATE SET task_id = excluded.task_id, body = excluded.body, at_us = excluded.at_us";

/// The newest report of a kind.
pub fn latest(tx: &mut Tx<'_>, node_id: &NodeId, kind: TaskKind) -> Result<Option<ReportRow>, StoreError> {
    let row = tx.query_opt(GET, &[node_id.into(), kind.as_str().into()])?;
    row.map(|row| Ok(ReportRow { task_id: row.parse(0)?, body: row.text(1)?.to_owned(), at: row.timestamp(2)? }))
        .transpose()
}

/// Keeps a report in place of the one before.
pub fn put(
    tx: &mut Tx<'_>,
    node_id: &NodeId,
    kind: TaskKind,
    task_id: &TaskId,
    body: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let params = [node_id.into(), kind.as_str().into(), task_id.into(), body.into(), now.into()];
    tx.execute(PUT, &params)?;
    Ok(())
}
