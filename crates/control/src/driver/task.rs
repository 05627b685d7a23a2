//! Orders to nodes: answered by the node, or given up here when their deadline passes or a newer order for one of their slots
//! replaces them. Whoever waited for the answer is looked at again.

use lifecycle::{
    Next, NoEffect,
    task::{self, State, View},
};
use model::{Timestamp, task::TaskKind};
use store::{
    Stamp, StoreError, Tx, allocations,
    living::{self, Living as Table, Seen},
    tasks::{self, TaskRow},
};

use super::{Hands, Living, id_of};
use crate::plane::PlaneConfig;

/// Orders.
pub(crate) struct Tasks;

/// An order, and whether a newer one took its place.
pub(crate) struct Looked {
    task: TaskRow,
    superseded: bool,
}

impl Living for Tasks {
    const TABLE: Table = Table::Tasks;
    type Looked = Looked;
    type State = State;
    type Effect = NoEffect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(task) = tasks::get(tx, &id_of(id)?)? else { return Ok(None) };
        let superseded = match task.allocation_id() {
            Some(allocation) => tasks::of_allocation(tx, allocation)?.iter().any(|other| supersedes(other, &task)),
            None => {
                let newest = tasks::latest_of_node(tx, &task.node_id, task.kind)?;
                newest.is_some_and(|newest| newest.fence.attempt > task.fence.attempt)
            }
        };
        Ok(Some(Looked { task, superseded }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.task.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, _: &PlaneConfig) -> Next<State, NoEffect> {
        let Looked { task, superseded } = looked;
        let view = View {
            state: task.state,
            state_since: task.life.state_since,
            deadline: task.deadline,
            superseded: *superseded,
            for_provider: task.kind.is_for_provider(),
        };
        task::decide(&view, now)
    }

    fn perform(_: &Hands<'_>, _: &Looked, effect: NoEffect) -> Result<(), StoreError> {
        match effect {}
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        if state != State::Expired {
            return Err(StoreError::Other(format!("the driver does not move orders to {state}")));
        }
        let reason = if looked.superseded { "superseded" } else { "deadline_passed" };
        tasks::expire(tx, stamp, &looked.task, Some(reason))?;
        poke_waiting(tx, &looked.task, stamp.now)
    }
}

/// Looks again at whoever waits for an order that has just ended: its allocation, for a wipe its slots, and for a notice the
/// workload whose guest was told. An order about the host itself is waited for by whoever asked for it, so their operation ends with it.
pub(crate) fn poke_waiting(tx: &mut Tx<'_>, task: &TaskRow, now: Timestamp) -> Result<(), StoreError> {
    match task.allocation_id() {
        Some(allocation) => living::poke(tx, Table::Allocations, allocation.as_str(), now)?,
        None => crate::host_orders::finish(tx, task, now)?,
    };
    let wiped: &[_] = if task.kind == TaskKind::SliceVmRelease { task.slots() } else { &[] };
    for slot in wiped {
        living::poke(tx, Table::Slots, slot.slot_id.as_str(), now)?;
    }
    let noticed = task.allocation_id().filter(|_| task.kind == TaskKind::SliceVmNotice);
    let noticed = noticed.map(|id| allocations::get(tx, id)).transpose()?.flatten();
    if let Some(workload_id) = noticed.and_then(|allocation| allocation.workload_id) {
        living::poke(tx, Table::Workloads, workload_id.as_str(), now)?;
    }
    Ok(())
}

/// Whether an order takes the place of an older one: given later for the same allocation, and touching one of its slots.
pub(crate) fn supersedes(newer: &TaskRow, older: &TaskRow) -> bool {
    let touches = |slot: &model::task::TaskSlot| older.slots().iter().any(|other| other.slot_id == slot.slot_id);
    newer.fence.attempt > older.fence.attempt && newer.slots().iter().any(touches)
}
