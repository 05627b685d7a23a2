//! Tasks: the orders that were given to node agents. An order has one answer: only the attempt that is open, under the
//! very fence it was given with, can be finished; a late, repeated or foreign answer is `StaleVersion` and changes
//! nothing.
//!
//! ```text
//! pending ── deliver ──▶ delivered ──▶ succeeded | failed
//!    └──────────────────────┴── past the deadline ──▶ expired
//! ```

use model::event::{Change as What, Noun};
use model::task::{Fence, GuestOrder, Task, TaskInput, TaskKind, TaskResult, TaskSlot, TaskState};
use model::{AllocationId, NodeId, ProjectId, TaskId, TenantId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::living::{Life, Seen, life_begins_anew, life_columns};
use crate::record::{self, Change, Stamp};
use crate::scope::Page;
use crate::{Batch, BulkUpdate, Kind, Row, StoreError, Tx};

/// One order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// Who must do it.
    pub node_id: NodeId,
    /// The allocation it serves; none when it is about the host itself.
    pub served: Option<Served>,
    /// What to do.
    pub kind: TaskKind,
    /// What makes it newer than another.
    pub fence: Fence,
    /// Where it stands.
    pub state: TaskState,
    /// What to do, with all that is needed for it.
    pub input: TaskInput,
    /// The last word of the agent while it works.
    pub progress: Option<String>,
    /// The answer.
    pub result: Option<TaskResult>,
    /// After this nobody waits for the answer.
    pub deadline: Timestamp,
    /// Waits, looks and faults.
    pub life: Life,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was given.
    pub created: Timestamp,
}

/// The allocation that an order serves, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its project.
    pub project_id: ProjectId,
}

impl TaskRow {
    /// The allocation it serves.
    pub fn allocation_id(&self) -> Option<&AllocationId> {
        self.served.as_ref().map(|served| &served.allocation_id)
    }
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    /// The slots it touches; none when it is about the host itself.
    pub fn slots(&self) -> &[TaskSlot] {
        self.input.slots()
    }
    /// The order as the agent receives it.
    pub fn order(&self) -> Task {
        let (id, node_id, input) = (self.id.clone(), self.node_id.clone(), self.input.clone());
        Task { id, node_id, input, fence: self.fence, deadline: self.deadline }
    }
    fn entering(&self, state: TaskState) -> Change<'_> {
        Change::of(Noun::Task, What::StateChanged, self.id.as_str(), self.version + 1)
            .within(self.served.as_ref().map(|of| &of.tenant_id), self.served.as_ref().map(|of| &of.project_id))
            .states(Some(self.state.as_str()), state.as_str())
    }
}

/// An order to record: what the agent will receive, and whose allocation it serves.
#[derive(Debug, Clone, Copy)]
pub struct TaskNew<'a> {
    /// The order.
    pub task: &'a Task,
    /// Whose allocation it serves; none when it is about the host itself.
    pub owner: Option<(&'a TenantId, &'a ProjectId)>,
}

// How orders were kept before they carried more than slots.
#[derive(Deserialize)]
struct OnlySlots {
    slots: Vec<TaskSlot>,
}

fn read_input(row: &Row, kind: TaskKind, allocation_id: Option<AllocationId>) -> Result<TaskInput, StoreError> {
    let text = row.text(10)?;
    let corrupt = |why: &dyn std::fmt::Display| row.corrupt(10, &why.to_string());
    let error = match serde_json::from_str::<TaskInput>(text) {
        Ok(input) if input.kind() == kind => return Ok(input),
        Ok(input) => return Err(corrupt(&format!("is a {}, not a {kind}", input.kind()))),
        Err(error) => error,
    };
    let Ok(OnlySlots { slots }) = serde_json::from_str(text) else { return Err(corrupt(&error)) };
    let guest = allocation_id.map(|allocation_id| GuestOrder { allocation_id, slots, guest: None, grace_s: None });
    match (kind, guest) {
        (TaskKind::SliceVmProvision, Some(guest)) => Ok(TaskInput::SliceVmProvision(guest)),
        (TaskKind::SliceVmRelease, Some(guest)) => Ok(TaskInput::SliceVmRelease(guest)),
        (TaskKind::SliceTopologyDiscover, None) => Ok(TaskInput::SliceTopologyDiscover {}),
        (TaskKind::NodeReadiness, None) => Ok(TaskInput::NodeReadiness {}),
        _ => Err(corrupt(&error)),
    }
}

macro_rules! selected {
    () => {
        concat!(
            "SELECT k.id, k.node_id, k.allocation_id, a.tenant_id, a.project_id, k.kind, k.fence_incarnation, ",
            "k.fence_generation, k.attempt, k.state, k.input, k.progress, k.output, k.deadline_us, k.version, ",
            "k.created_us, ",
            life_columns!("k"),
            " FROM node_tasks k LEFT JOIN allocations a ON a.id = k.allocation_id"
        )
    };
}

static DELIVER: BulkUpdate = BulkUpdate {
    table: "node_tasks",
    matches: &[("id", Kind::Text), ("version", Kind::Int), ("state", Kind::Text)],
    sets: &[("state", Kind::Text), ("state_since_us", Kind::Int)],
    also: "version = version + 1",
};
const INSERT: &str = "INSERT INTO node_tasks (id, node_id, allocation_id, kind, fence_incarnation, fence_generation, \
    attempt, state, state_since_us, input, deadline_us, look_us, version, created_us) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 1, $9)";
const GET: &str = concat!(selected!(), " WHERE k.id = $1");
const OPEN_FOR_NODE: &str = concat!(
    selected!(),
    " WHERE k.node_id = $1 AND k.state IN ('pending', 'delivered') \
    AND k.kind NOT IN ('machine.deploy', 'machine.reclaim') ORDER BY k.id LIMIT $2"
);
const OPEN_FOR_PROVIDERS: &str = concat!(
    selected!(),
    " WHERE k.state IN ('pending', 'delivered') AND k.kind IN ('machine.deploy', 'machine.reclaim') ORDER BY k.id LIMIT $1"
);
const FOR_PROVIDER_OF_NODE: &str = "SELECT id FROM node_tasks WHERE node_id = $1 \
    AND kind IN ('machine.deploy', 'machine.reclaim') ORDER BY id DESC LIMIT $2";
const NODES_WITH_OPEN: &str = "SELECT node_id, CAST(MAX(CASE WHEN state = 'pending' THEN 1 ELSE 0 END) AS BIGINT) FROM node_tasks \
    WHERE state IN ('pending', 'delivered') AND kind NOT IN ('machine.deploy', 'machine.reclaim') GROUP BY node_id ORDER BY node_id";
const OF_NODE: &str = concat!(selected!(), " WHERE k.node_id = $3 AND k.id > $1 ORDER BY k.id LIMIT $2");
const LATEST: &str =
    concat!(selected!(), " WHERE k.allocation_id = $1 AND k.kind = $2 ORDER BY k.attempt DESC LIMIT 1");
const OF_ALLOCATION: &str = concat!(selected!(), " WHERE k.allocation_id = $1 ORDER BY k.id");
const LATEST_OF_NODE: &str = concat!(
    selected!(),
    " WHERE k.node_id = $1 AND k.kind = $2 AND k.allocation_id IS NULL ORDER BY k.attempt DESC LIMIT 1"
);
const PROGRESS: &str = "UPDATE node_tasks SET progress = $3 WHERE id = $1 AND node_id = $2 \
    AND state IN ('pending', 'delivered')";
const BEGIN_STEP: &str = "UPDATE node_tasks SET progress = $3, version = version + 1 WHERE id = $1 AND version = $2 \
    AND state IN ('pending', 'delivered')";
const WAIT_LONGER: &str = "UPDATE node_tasks SET deadline_us = $2 WHERE id = $1 AND deadline_us < $2 \
    AND state IN ('pending', 'delivered')";
const FINISH: &str = concat!(
    "UPDATE node_tasks SET state = $3, output = $5, ",
    life_begins_anew!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2 AND state = 'delivered' ",
    "AND fence_incarnation = $6 AND fence_generation = $7 AND attempt = $8"
);
const EXPIRE: &str = concat!(
    "UPDATE node_tasks SET state = $3, ",
    life_begins_anew!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2 AND state IN ('pending', 'delivered')"
);

fn read(row: &Row) -> Result<TaskRow, StoreError> {
    let kind = row.parse(5)?;
    let allocation_id = row.opt_text(2)?.map(|_| row.parse(2)).transpose()?;
    let result = match row.opt_text(12)? {
        None => None,
        Some(text) => Some(serde_json::from_str(text).map_err(|error| row.corrupt(12, &error.to_string()))?),
    };
    Ok(TaskRow {
        id: row.parse(0)?,
        node_id: row.parse(1)?,
        served: match row.opt_text(2)? {
            None => None,
            Some(_) => {
                Some(Served { allocation_id: row.parse(2)?, tenant_id: row.parse(3)?, project_id: row.parse(4)? })
            }
        },
        kind,
        fence: Fence { incarnation: row.int(6)?, generation: row.int(7)?, attempt: row.int(8)? },
        state: row.parse(9)?,
        input: read_input(row, kind, allocation_id)?,
        progress: row.opt_text(11)?.map(str::to_owned),
        result,
        deadline: row.timestamp(13)?,
        version: row.int(14)?,
        created: row.timestamp(15)?,
        life: Life::read(row, 16)?,
    })
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))
}

/// Gives an order: `pending`, looked at by the driver when its deadline passes. One order a kind and attempt for each
/// allocation, and for each host.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: TaskNew<'_>) -> Result<(), StoreError> {
    let (task, state) = (new.task, TaskState::Pending.as_str());
    let params = [
        (&task.id).into(),
        (&task.node_id).into(),
        task.input.allocation_id().into(),
        task.kind().as_str().into(),
        task.fence.incarnation.into(),
        task.fence.generation.into(),
        task.fence.attempt.into(),
        state.into(),
        stamp.now.into(),
        json(&task.input)?.into(),
        task.deadline.into(),
    ];
    let change = Change::of(Noun::Task, What::Created, task.id.as_str(), 1)
        .within(new.owner.map(|owner| owner.0), new.owner.map(|owner| owner.1))
        .states(None, state);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One order.
pub fn get(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// The orders that a node has yet to answer, oldest first.
pub fn open_for_node(tx: &mut Tx<'_>, node_id: &NodeId, limit: i64) -> Result<Vec<TaskRow>, StoreError> {
    tx.query(OPEN_FOR_NODE, &[node_id.into(), limit.into()])?.iter().map(read).collect()
}

/// Orders to the providers of machines that were not ended yet, oldest first, of the whole fleet.
pub fn open_for_providers(tx: &mut Tx<'_>, limit: i64) -> Result<Vec<TaskRow>, StoreError> {
    tx.query(OPEN_FOR_PROVIDERS, &[limit.into()])?.iter().map(read).collect()
}

/// The orders to the provider of a node's machine, ended ones too, newest first.
pub fn for_provider_of_node(tx: &mut Tx<'_>, node_id: &NodeId, limit: i64) -> Result<Vec<TaskId>, StoreError> {
    tx.query(FOR_PROVIDER_OF_NODE, &[node_id.into(), limit.into()])?.iter().map(|row| row.parse(0)).collect()
}

/// The nodes that have orders to answer, each with whether one of them was not handed out yet. One query for the whole
/// fleet; it costs what is open, not what there is.
pub fn nodes_with_open(tx: &mut Tx<'_>) -> Result<Vec<(NodeId, bool)>, StoreError> {
    tx.query(NODES_WITH_OPEN, &[])?.iter().map(|row| Ok((row.parse(0)?, row.flag(1)?))).collect()
}

/// The orders to a node in id order, ended ones too.
pub fn list_of_node(tx: &mut Tx<'_>, node_id: &NodeId, page: Page<'_>) -> Result<Vec<TaskRow>, StoreError> {
    tx.query(OF_NODE, &[page.after.into(), page.rows().into(), node_id.into()])?.iter().map(read).collect()
}

/// The newest attempt at one kind of order for an allocation.
pub fn latest(tx: &mut Tx<'_>, id: &AllocationId, kind: TaskKind) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(LATEST, &[id.into(), kind.as_str().into()])?.as_ref().map(read).transpose()
}

/// The newest order of one kind about the host itself.
pub fn latest_of_node(tx: &mut Tx<'_>, node_id: &NodeId, kind: TaskKind) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(LATEST_OF_NODE, &[node_id.into(), kind.as_str().into()])?.as_ref().map(read).transpose()
}

/// Every order that was given for an allocation.
pub fn of_allocation(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Vec<TaskRow>, StoreError> {
    tx.query(OF_ALLOCATION, &[id.into()])?.iter().map(read).collect()
}

/// Notes that orders were handed to their agent. What is no longer `pending` is left alone: handing it out again is no
/// change. `StaleVersion` when a pending one has moved on.
pub fn deliver_all(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, tasks: &[TaskRow]) -> Result<(), StoreError> {
    let mut rows = Batch::update(&DELIVER);
    let mut changes = Vec::new();
    for task in tasks.iter().filter(|task| task.state == TaskState::Pending) {
        rows.push([
            (&task.id).into(),
            task.version.into(),
            TaskState::Pending.as_str().into(),
            TaskState::Delivered.as_str().into(),
            stamp.now.into(),
        ]);
        changes.push(task.entering(TaskState::Delivered));
    }
    record::changed_all(tx, stamp, &rows, &changes)
}

/// Stores the last word of an agent that is still working; no transition. False when the order is not open on this
/// node.
pub fn progress(tx: &mut Tx<'_>, id: &TaskId, node_id: &NodeId, progress: &str) -> Result<bool, StoreError> {
    Ok(tx.execute(PROGRESS, &[id.into(), node_id.into(), progress.into()])? == 1)
}

/// Waits longer for an open order, because its agent is at work; no transition. A deadline never comes nearer.
pub fn wait_longer(tx: &mut Tx<'_>, id: &TaskId, deadline: Timestamp) -> Result<bool, StoreError> {
    Ok(tx.execute(WAIT_LONGER, &[id.into(), deadline.into()])? == 1)
}

/// Stores the word of an agent that it has come to another step of an order, and tells everybody who follows it.
/// `StaleVersion` when the order has moved on.
pub fn begin_step(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    task: &TaskRow,
    (step, progress): (&str, &str),
) -> Result<i64, StoreError> {
    let served = task.served.as_ref();
    let change = Change::of(Noun::Task, What::Updated, task.id.as_str(), task.version + 1)
        .within(served.map(|of| &of.tenant_id), served.map(|of| &of.project_id))
        .because(Some(step));
    record::changed(tx, stamp, BEGIN_STEP, &[(&task.id).into(), task.version.into(), progress.into()], change)
}

/// Stores the answer to an order that was handed out. `StaleVersion` when it has ended or the fence is another.
pub fn finish(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, task: &TaskRow, result: &TaskResult) -> Result<i64, StoreError> {
    let state = if result.failure.is_none() { TaskState::Succeeded } else { TaskState::Failed };
    let params = [
        (&task.id).into(),
        task.version.into(),
        state.as_str().into(),
        stamp.now.into(),
        json(result)?.into(),
        result.fence.incarnation.into(),
        result.fence.generation.into(),
        result.fence.attempt.into(),
    ];
    let change = task.entering(state).because(result.failure.map(|failure| failure.as_str()));
    record::changed(tx, stamp, FINISH, &params, change)
}

/// Gives up on an order: its deadline has passed, or a newer attempt replaces it.
pub fn expire(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, task: &TaskRow, reason: Option<&str>) -> Result<i64, StoreError> {
    let state = TaskState::Expired;
    let params = [(&task.id).into(), task.version.into(), state.as_str().into(), stamp.now.into()];
    record::changed(tx, stamp, EXPIRE, &params, task.entering(state).because(reason))
}
