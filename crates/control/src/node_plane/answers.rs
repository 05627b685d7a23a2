//! Answers to orders. An answer counts once, and only for the attempt that is open, under the fence it was given with. Whatever
//! comes later changes nothing; if it says something else than the answer that counted, it is an incident.
//!
//! What an agent saw when it was ordered to look is stored in the transaction that ends the order. A report that is not
//! taken ends the order as failed, so that nobody waits for it and nobody sends it again.

use std::io;

use api::node_plane::TaskAnswer;
use model::{
    NodeId,
    supply::IncidentKind,
    task::{TaskFailure, TaskKind, TaskResult},
};
use store::{
    Stamp, Tx, nodes,
    tasks::{self, TaskRow},
};

use super::{NodeRefusal, proofs};
use crate::{
    driver::poke_waiting,
    host_findings,
    reports::{self, Kept},
};

/// What came of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Taken {
    /// It ended its order.
    pub(super) counted: bool,
    /// It says something that an honest agent would not.
    pub(super) incident: Option<(IncidentKind, String)>,
}

/// Writes an answer down.
pub(super) fn take(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeId,
    answer: &TaskAnswer,
) -> Result<Taken, NodeRefusal> {
    let result = &answer.result;
    let Some(task) = tasks::get(tx, &result.task_id)? else { return Ok(Taken::default()) };
    if task.node_id != *node && !model::planted!(NodeActsForAnother) {
        tracing::warn!(%node, task = %task.id, "a node answered another node's order");
        return Err(NodeRefusal::WrongNode);
    }
    if task.state.is_terminal() || task.fence != result.fence {
        tracing::info!(%node, task = %task.id, state = %task.state, "an answer came too late, twice, or under another fence");
        return Ok(Taken { counted: false, incident: replayed(&task, result) });
    }
    let node = nodes::get(tx, &task.node_id)?.ok_or(NodeRefusal::UnknownNode)?;
    if node.is_without_identity() || task.kind.is_for_provider() {
        return Err(NodeRefusal::UnknownNode);
    }
    if result.failure.is_none() && task.kind == TaskKind::SliceVmRelease {
        proofs::keep(tx, stamp, &node, &task, &result.proofs)?;
    }
    if result.failure == Some(TaskFailure::PlanRefused) && task.kind == TaskKind::SliceVmProvision {
        let asked = task.slots().iter().map(|slot| slot.slot_id.clone()).collect();
        host_findings::plan_answered(tx, stamp, &node, &asked, &result.refusals)?;
    }
    let looks = matches!(
        task.kind,
        TaskKind::SliceTopologyDiscover | TaskKind::NodeReadiness | TaskKind::SlicePlan | TaskKind::SliceReconcile
    );
    let refused = match &answer.report {
        _ if result.failure.is_some() => None,
        None if looks => Some((None, "The agent said that it had looked, and not what it saw.".to_owned())),
        None => None,
        Some(report) => match reports::keep(tx, stamp, &node, &task, report)? {
            Kept::Stored => None,
            Kept::Refused { kind, detail } => Some((Some(kind), detail)),
        },
    };
    match &refused {
        None => tasks::finish(tx, stamp, &task, result)?,
        Some((_, why)) => tasks::finish(tx, stamp, &task, &not_taken(result, why))?,
    };
    poke_waiting(tx, &task, stamp.now)?;
    let incident = refused.and_then(|(kind, why)| kind.map(|kind| (kind, why)));
    Ok(Taken { counted: true, incident })
}

fn not_taken(result: &TaskResult, why: &str) -> TaskResult {
    let (failure, detail) = (Some(TaskFailure::ReportRefused), why.to_owned());
    TaskResult { failure, detail, ..result.clone() }
}

/// Whether a late answer contradicts the one that counted. Two things are no contradiction: an agent that long forgot an
/// order refuses it by its fence, and an agent whose report was not taken repeats its own answer.
fn replayed(task: &TaskRow, result: &TaskResult) -> Option<(IncidentKind, String)> {
    let counted = task.result.as_ref()?;
    let honest = counted == result
        || result.failure == Some(TaskFailure::StaleFence)
        || counted.failure == Some(TaskFailure::ReportRefused);
    let detail = || format!("The order {} was answered before, and differently.", task.id);
    if honest { None } else { Some((IncidentKind::ReplayedResult, detail())) }
}

/// How long something is as JSON, without writing it anywhere.
pub(super) fn json_bytes(value: &impl serde::Serialize) -> Option<usize> {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).ok()?;
    Some(count.0)
}
