//! Giving an order to a node: what it must carry so that a late, repeated or foreign copy of it is harmless. One order for
//! each (allocation, kind, attempt) is the store's rule, so giving one twice is refused, not doubled.

use lifecycle::order::{OrderView, Orders};
use model::{
    AllocationId, NodeId, ProjectId, TaskId, TenantId, Timestamp,
    claim::ClaimKind,
    supply::SlotState,
    task::{Fence, GuestOrder, Task, TaskInput, TaskKind, TaskSlot, TaskState},
};
use store::{
    Stamp, StoreError, Tx, claims,
    living::{self, Living as Table},
    slots::{self, SlotRow},
    tasks::{self, TaskNew, TaskRow},
};

use super::task::supersedes;

/// What an order wants of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Provision,
    Release,
}

impl Purpose {
    fn input(self, guest: GuestOrder) -> TaskInput {
        match self {
            Self::Provision => TaskInput::SliceVmProvision(guest),
            Self::Release => TaskInput::SliceVmRelease(guest),
        }
    }
}

/// For whom an order is.
pub(super) struct Order<'a> {
    pub(super) node_id: &'a NodeId,
    pub(super) allocation_id: &'a AllocationId,
    pub(super) tenant_id: &'a TenantId,
    pub(super) project_id: &'a ProjectId,
    pub(super) purpose: Purpose,
    pub(super) attempt: i64,
    pub(super) deadline: Timestamp,
}

/// Writes an order down, and looks again at older ones that it replaces.
pub(super) fn give(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    order: &Order<'_>,
    touched: &[SlotRow],
) -> Result<(), StoreError> {
    let challenge = |slot: &SlotRow| if order.purpose == Purpose::Release { slot.wipe_nonce.clone() } else { None };
    let slots: Vec<TaskSlot> = touched
        .iter()
        .map(|slot| TaskSlot { slot_id: slot.id.clone(), use_generation: slot.use_generation, nonce: challenge(slot) })
        .collect();
    // The agent compares slot by slot, with each slot's own generation; this one is for people and for the answer.
    let generation = slots.iter().map(|slot| slot.use_generation).max().unwrap_or(0);
    let guest = GuestOrder { allocation_id: order.allocation_id.clone(), slots };
    let task = Task {
        id: TaskId::from_parts(stamp.now, stamp.bits()),
        node_id: order.node_id.clone(),
        input: order.purpose.input(guest),
        fence: Fence { incarnation: store::incarnation(tx)?, generation, attempt: order.attempt },
        deadline: order.deadline,
    };
    tasks::insert(tx, stamp, TaskNew { task: &task, owner: Some((order.tenant_id, order.project_id)) })?;
    let given = tasks::of_allocation(tx, order.allocation_id)?;
    let Some(newest) = given.iter().find(|other| other.id == task.id) else { return Err(StoreError::NotFound) };
    for older in given.iter().filter(|older| !older.state.is_terminal() && supersedes(newest, older)) {
        living::poke(tx, Table::Tasks, older.id.as_str(), stamp.now)?;
    }
    Ok(())
}

/// Orders of one kind, as deciders see them. Those from before the state was entered, or begun anew at an operator's word,
/// are seen but not counted.
pub(super) fn orders_of<'a>(given: impl Iterator<Item = &'a TaskRow>, since: Timestamp) -> Orders {
    given.fold(Orders { newest: None, given: 0 }, |so_far, task| Orders {
        // Rows come in the order of their ids; the highest attempt is the newest.
        newest: Some(OrderView { state: task.state, since: task.life.state_since }),
        given: so_far.given + i64::from(task.created >= since),
    })
}

/// The orders of an allocation by attempt, oldest first.
pub(super) fn by_attempt(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Vec<TaskRow>, StoreError> {
    let mut given = tasks::of_allocation(tx, id)?;
    given.sort_by_key(|task| task.fence.attempt);
    Ok(given)
}

/// The attempt that ended an allocation's use of its slots; later orders to release wipe single slots again.
pub(super) fn release_that_ended(given: &[TaskRow]) -> Option<i64> {
    let mut releases = given.iter().filter(|task| task.kind == TaskKind::SliceVmRelease);
    releases.find(|task| task.state == TaskState::Succeeded).map(|task| task.fence.attempt)
}

/// What an allocation holds now: its node, and the slots that are in its hands.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) node_id: Option<NodeId>,
    pub(super) slots: Vec<SlotRow>,
}

/// Reads what an allocation holds from its claims, which are the truth.
pub(super) fn held(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Held, StoreError> {
    let Some(claim) = claims::of_allocation(tx, id)?.into_iter().find(|claim| claim.active) else {
        return Ok(Held::default());
    };
    let slots = match claim.kind {
        ClaimKind::Slot => slots::of_allocation(tx, id)?,
        ClaimKind::NodeExclusive => {
            let mut all = slots::of_node(tx, &claim.node_id)?;
            all.retain(|slot| !matches!(slot.state, SlotState::Disabled | SlotState::Available));
            all
        }
    };
    Ok(Held { node_id: Some(claim.node_id), slots })
}

/// Gives each slot a fresh challenge that its next wipe proof must answer.
pub(super) fn challenge(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, touched: &[SlotRow]) -> Result<(), StoreError> {
    let nonces: Vec<String> = touched.iter().map(|_| nonce(stamp)).collect();
    let pairs: Vec<(&SlotRow, &str)> = touched.iter().zip(nonces.iter().map(String::as_str)).collect();
    slots::challenge_all(tx, stamp, &pairs)
}

fn nonce(stamp: &mut Stamp<'_>) -> String {
    [stamp.bits(), stamp.bits()].concat().iter().map(|byte| format!("{byte:02x}")).collect()
}
