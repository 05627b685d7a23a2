//! What it means that a world has come to rest: nothing moves any more, and what does not move has a reason.

use model::{
    allocation::State as AllocationState,
    operation::OperationState,
    supply::{NodeState, SlotState},
    tenancy::State as TenancyState,
};
use store::{
    Db, Page, Scope, StoreError, Tx, allocations, audit, events, living::Life, nodes, operations, projects, slots,
    tasks, tenants,
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
        let checks: [Check; 5] = [numbering, supply, orders, wishes, tenancy];
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

fn wishes(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    let filter = allocations::AllocationFilter::default();
    for row in allocations::list(tx, &Scope::All, filter, Page::first(ROWS_MAX))? {
        let rests = match row.state {
            AllocationState::Running => row.desired == model::allocation::Desired::Running,
            state => state.is_terminal() || waits_for_operator(&row.life),
        };
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

fn tenancy(tx: &mut Tx<'_>) -> Result<Option<Unrest>, StoreError> {
    let rests =
        |state: TenancyState| matches!(state, TenancyState::Active | TenancyState::Suspended | TenancyState::Deleted);
    for row in tenants::list(tx, &Scope::All, Page::first(ROWS_MAX))? {
        if !rests(row.state) {
            return Ok(Some(Unrest::new(format!("tenant {} is {}", row.id, row.state))));
        }
    }
    for row in projects::list(tx, &Scope::All, None, Page::first(ROWS_MAX))? {
        if !rests(row.state) {
            return Ok(Some(Unrest::new(format!("project {} is {} {:?}", row.id, row.state, row.life))));
        }
    }
    Ok(None)
}
