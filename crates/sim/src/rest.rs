//! What it means that a world has come to rest: nothing moves any more, and what does not move has a reason.

use model::{
    ProjectId, WorkloadId,
    allocation::State as AllocationState,
    operation::OperationState,
    supply::{NodeState, SlotState},
    tenancy::State as TenancyState,
    workload::State as WorkloadState,
};
use std::collections::BTreeSet;
use store::{
    Db, Page, Scope, StoreError, Tx, allocations, audit, events, living::Life, nodes, operations, projects, slots,
    tasks, tenants, workloads,
};

/// Something that has not come to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrest(pub String);

impl Unrest {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

const ROWS_MAX: i64 = 1000;

type Check = fn(&mut Tx<'_>) -> Result<Option<Unrest>, StoreError>;

/// Looks for something in the store that has not come to rest.
pub fn unrest(db: &Db) -> Result<Option<Unrest>, StoreError> {
    db.read(|tx| {
        let checks: [Check; 6] = [numbering, supply, orders, queues, wishes, tenancy];
        for check in checks {
            if let Some(unrest) = check(tx)? {
                return Ok(Some(unrest));
            }
        }
        Ok(None)
    })
}

fn numbering(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    let waiting = events::waiting(tx)? || audit::waiting(tx)?;
    Ok(waiting.then(|| Unrest::new("events or audit rows wait for their numbers")))
}

// Whoever waits for an operator has come to rest, and says so.
fn waits_for_operator(life: &Life) -> bool {
    life.wait.as_ref().is_some_and(|wait| wait.code.ends_with("_needs_operator") && !wait.because.is_empty())
}

fn supply(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    for node in nodes::list(tx, None, Page::first(ROWS_MAX))? {
        if node.state != NodeState::Online {
            return Ok(Some(Unrest::new(format!("{} is {}", node.name, node.state))));
        }
    }
    for slot in slots::list(tx, None, None, Page::first(ROWS_MAX))? {
        let rests = match slot.state {
            // A slot in somebody's hands rests when its allocation does, which is looked at below.
            SlotState::Available | SlotState::Reserved | SlotState::InUse | SlotState::Disabled => true,
            SlotState::CleanupBlocked => waits_for_operator(&slot.life) || claimed(&slot.life),
            SlotState::Wiping => false,
        };
        if !rests {
            return Ok(Some(Unrest::new(format!("slot {} is {} {:?}", slot.id, slot.state, slot.life))));
        }
    }
    Ok(None)
}

// A blocked slot that its allocation still holds rests when the allocation does.
fn claimed(life: &Life) -> bool {
    life.wait.as_ref().is_some_and(|wait| wait.code == "claim_active")
}

fn orders(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    for node in nodes::list(tx, None, Page::first(ROWS_MAX))? {
        if let Some(task) = tasks::open_for_node(tx, &node.id, 1)?.first() {
            return Ok(Some(Unrest::new(format!("order {} is {}", task.id, task.state))));
        }
    }
    Ok(None)
}

// Whoever waits in a queue has been told why; whoever was admitted runs.
fn queues(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    for row in workloads::live(tx)? {
        let wanted = row.desired == model::allocation::Desired::Running;
        let rests = match row.state {
            WorkloadState::Queued => wanted && row.wait.is_some(),
            WorkloadState::Running => wanted,
            _ => waits_for_operator(&row.life),
        };
        if !rests && !members_need_operator(tx, &row.id)? {
            let (id, state) = (&row.id, row.state);
            return Ok(Some(Unrest::new(format!("workload {id} is {state} {row:?}"))));
        }
    }
    Ok(None)
}

fn members_need_operator(tx: &mut Tx<'_>, id: &WorkloadId) -> Result<bool, StoreError> {
    for member in workloads::members(tx, &BTreeSet::from([id.clone()]))? {
        if allocations::get(tx, &member.allocation_id)?.is_some_and(|row| waits_for_operator(&row.life)) {
            return Ok(true);
        }
    }
    Ok(false)
}

// A member of what waits in a queue rests when that does.
fn queued(tx: &mut Tx<'_>, row: &allocations::AllocationRow) -> Result<bool, StoreError> {
    let Some(id) = row.workload_id.as_ref().filter(|_| row.state == AllocationState::Requested) else {
        return Ok(false);
    };
    Ok(workloads::get(tx, id)?.is_some_and(|row| row.state == WorkloadState::Queued))
}

fn wishes(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    let filter = allocations::AllocationFilter::default();
    for row in allocations::list(tx, &Scope::All, filter, Page::first(ROWS_MAX))? {
        let rests = match row.state {
            AllocationState::Running => row.desired == model::allocation::Desired::Running,
            state => state.is_terminal() || waits_for_operator(&row.life),
        };
        if queued(tx, &row)? {
            continue;
        }
        if !rests {
            return Ok(Some(Unrest::new(format!("allocation {} is {} {:?}", row.id, row.state, row.life))));
        }
        for operation in operations::list(tx, &Scope::All, None, Some(row.id.as_str()), Page::first(ROWS_MAX))? {
            if operation.state == OperationState::Running && !waits_for_operator(&row.life) {
                return Ok(Some(Unrest::new(format!("operation {} runs, {} is {}", operation.id, row.id, row.state))));
            }
        }
    }
    Ok(None)
}

// What is left in a project waits for an operator, and the project waits with it.
fn held_up(tx: &mut Tx<'_>, id: &ProjectId) -> Result<bool, StoreError> {
    let filter = allocations::AllocationFilter { project_id: Some(id), ..Default::default() };
    let rows = allocations::list(tx, &Scope::All, filter, Page::first(ROWS_MAX))?;
    let mut left = rows.iter().filter(|row| !row.state.is_terminal()).peekable();
    Ok(left.peek().is_some() && left.all(|row| waits_for_operator(&row.life)))
}

fn tenancy(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    let rests =
        |state: TenancyState| matches!(state, TenancyState::Active | TenancyState::Suspended | TenancyState::Deleted);
    for row in tenants::list(tx, &Scope::All, Page::first(ROWS_MAX))? {
        if !rests(row.state) {
            return Ok(Some(Unrest::new(format!("tenant {} is {}", row.id, row.state))));
        }
    }
    for row in projects::list(tx, &Scope::All, None, Page::first(ROWS_MAX))? {
        if !rests(row.state) && !held_up(tx, &row.id)? {
            return Ok(Some(Unrest::new(format!("project {} is {} {:?}", row.id, row.state, row.life))));
        }
    }
    Ok(None)
}
