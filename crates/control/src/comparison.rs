//! Comparing a host with what is claimed on it: the order that says what should be there, and when one is given without being
//! asked for. A node that was silent, or whose agent was started anew (after a crash, an upgrade, or because the host was), may
//! have lost or kept what nobody knows of; so the first thing that it hears of is a comparison. One at a time is enough: an open
//! order is carried out by whichever agent there is.

use std::collections::BTreeMap;

use model::{
    AllocationId, TaskId,
    allocation::{Desired, State},
    supply::SlotState,
    task::{PlanSlot, ReconcileClaim, ReconcileOrder, TaskInput, TaskSlot},
};
use store::{
    Stamp, StoreError, Tx, allocations, claims,
    nodes::NodeRow,
    skus,
    slots::{self, SlotRow},
};

use crate::{
    driver::{bundle, share},
    host_orders,
};

/// Has a node compared that is back. None when it has nothing of the platform's, when a tenant has its machine, or when such an
/// order is open.
pub(crate) fn on_return(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<Option<TaskId>, StoreError> {
    if node.is_without_identity() || slots::of_node(tx, &node.id)?.is_empty() {
        return Ok(None);
    }
    let asked = order(tx, node)?;
    host_orders::give(tx, stamp, node, TaskInput::SliceReconcile(asked))
}

/// A slot as a host needs it to plan; none while something of it is unknown.
pub(crate) fn plan_slot(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<Option<PlanSlot>, StoreError> {
    let share = share(tx, &slot.profile, None)?;
    let bundle = share.and_then(|share| bundle(slot, share));
    Ok(bundle.map(|bundle| PlanSlot { slot_id: slot.id.clone(), bundle }))
}

/// Everything that is claimed on a node now, and its approved slots.
pub(crate) fn order(tx: &mut Tx<'_>, node: &NodeRow) -> Result<ReconcileOrder, StoreError> {
    let all = slots::of_node(tx, &node.id)?;
    let mut approved = Vec::new();
    for slot in all.iter().filter(|slot| slot.state != SlotState::Disabled) {
        approved.extend(plan_slot(tx, slot)?);
    }
    let mut held: BTreeMap<AllocationId, Vec<&SlotRow>> = BTreeMap::new();
    for claim in claims::active_on_node(tx, &node.id)? {
        let slots = held.entry(claim.allocation_id).or_default();
        match claim.slot_id {
            Some(id) => slots.extend(all.iter().filter(|slot| slot.id == id)),
            // Who has the whole node has every slot of it that is not free.
            None => slots.extend(all.iter().filter(|slot| is_taken(slot.state))),
        }
    }
    let mut claimed = Vec::with_capacity(held.len());
    for (allocation_id, slots) in held {
        let row = allocations::get(tx, &allocation_id)?.ok_or(StoreError::NotFound)?;
        let sku = skus::get(tx, &row.sku_id)?;
        let mut given = Vec::with_capacity(slots.len());
        for slot in slots {
            let share = share(tx, &slot.profile, sku.as_ref())?;
            given.push(TaskSlot {
                slot_id: slot.id.clone(),
                use_generation: slot.use_generation,
                nonce: None,
                bundle: share.and_then(|share| bundle(slot, share)).map(Box::new),
            });
        }
        let should_run = row.state == State::Running && row.desired == Desired::Running;
        claimed.push(ReconcileClaim { allocation_id, slots: given, should_run });
    }
    Ok(ReconcileOrder { claims: claimed, slots: approved })
}

const fn is_taken(state: SlotState) -> bool {
    !matches!(state, SlotState::Disabled | SlotState::Available)
}
