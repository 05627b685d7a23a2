//! Orders about a host itself: say what you have, whether you are ready, what a guest would get, what is not as claimed; fetch an
//! image. They take nothing from anybody, so an operator's request gives them at once. Who asked follows an operation about the *order*, which ends in the transaction in which the
//! order does: answered, refused or given up.

use api::{Code, operation::OperationError};
use model::{
    TaskId, Timestamp,
    task::{Fence, Task, TaskInput, TaskKind, TaskState},
};
use store::{
    Stamp, StoreError, Tx,
    nodes::NodeRow,
    operations,
    tasks::{self, TaskNew, TaskRow},
};

use crate::driver::write_json;

/// How long an agent has to look at its host.
const DEADLINE_S: i64 = 300;
/// How long it has to fetch an image, which may be long and the way to it slow.
const FETCH_DEADLINE_S: i64 = 3600;
/// States of an order in which it did what it was given for.
pub(crate) const ENDS_WELL: &[&str] = &["succeeded"];
/// States of an order in which it will not do it any more.
pub(crate) const ENDS_BADLY: &[&str] = &["failed", "expired"];

/// Gives an order, unless one of its kind is open: then `None`, and nothing changes.
pub(crate) fn give(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    node: &NodeRow,
    input: TaskInput,
) -> Result<Option<TaskId>, StoreError> {
    let newest = tasks::latest_of_node(tx, &node.id, input.kind())?;
    if newest.as_ref().is_some_and(|task| !task.state.is_terminal()) {
        return Ok(None);
    }
    let attempt = newest.map_or(1, |task| task.fence.attempt + 1);
    let deadline_s = if input.kind() == TaskKind::ImagePrefetch { FETCH_DEADLINE_S } else { DEADLINE_S };
    let task = Task {
        id: TaskId::from_parts(stamp.now, stamp.bits()),
        node_id: node.id.clone(),
        input,
        // Nobody's use of a slot is touched, so there is no generation to compare.
        fence: Fence { incarnation: store::incarnation(tx)?, generation: 0, attempt },
        deadline: stamp.now.plus_seconds(deadline_s),
    };
    tasks::insert(tx, stamp, TaskNew { task: &task, owner: None })?;
    Ok(Some(task.id))
}

/// Ends the operations about an order that has just ended.
pub(crate) fn finish(tx: &mut Tx<'_>, task: &TaskRow, now: Timestamp) -> Result<(), StoreError> {
    let Some(ended) = tasks::get(tx, &task.id)? else { return Ok(()) };
    let error = match ended.state {
        TaskState::Failed => {
            let said = ended.result.map(|result| result.detail).unwrap_or_default();
            Some(format!("The agent could not do it: {}", if said.is_empty() { "it did not say why." } else { &said }))
        }
        TaskState::Expired => Some("No answer came in time.".to_owned()),
        _ => None,
    };
    let told = |detail| write_json(&OperationError { code: Code::StateConflict, detail, refusal: None });
    let error = error.map(told).transpose()?;
    operations::finish_for(tx, ended.id.as_str(), ended.state.as_str(), error.as_deref(), now)?;
    Ok(())
}
