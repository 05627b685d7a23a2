//! Slots: between being sold and being sold again. The proof is looked up, never taken on trust: one that was checked and
//! stored for the latest use, and that answers the latest challenge.

use lifecycle::{
    Next,
    slot::{self, Effect, ProofView, State, View},
};
use model::{
    AllocationId, Timestamp,
    proof::ProofFault,
    supply::{NodeState, OccupancyMode},
    task::TaskKind,
};
use store::{
    Stamp, StoreError, Tx, allocations,
    claims::{self, ClaimRow},
    living::{Living as Table, Seen},
    nodes, operations, proofs,
    slots::{self, Health, SlotRow},
};

use super::{
    Hands, Living, id_of,
    orders::{Order, Purpose, by_attempt, challenge, give, orders_of, release_that_ended},
};
use crate::{
    leader::{Leader, unchanged},
    plane::PlaneConfig,
};

/// Slots.
pub(crate) struct Slots;

/// A slot with everything its decider sees.
pub(crate) struct Looked {
    slot: SlotRow,
    last_user: Option<AllocationId>,
    view: View,
}

impl Living for Slots {
    const TABLE: Table = Table::Slots;
    type Looked = Looked;
    type State = State;
    type Effect = Effect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(slot) = slots::get(tx, &id_of(id)?)? else { return Ok(None) };
        let occupied = claims::occupancy(tx, &slot.node_id)? == OccupancyMode::Exclusive;
        let last_claim = last_claim(tx, &slot)?;
        let node = nodes::get(tx, &slot.node_id)?;
        let given = match &last_claim {
            Some(claim) => by_attempt(tx, &claim.allocation_id)?,
            None => vec![],
        };
        // Orders of the allocation itself wipe all its slots; those after the one that ended it wipe single slots again. One
        // that ended without its host's word has no such order: there the end of the claim divides them.
        let ended = release_that_ended(&given);
        let unclaimed = last_claim.as_ref().and_then(|claim| claim.released);
        let again = given.iter().filter(|task| {
            let touches = task.slots().iter().any(|touched| touched.slot_id == slot.id);
            let later = match ended {
                Some(attempt) => task.fence.attempt > attempt,
                None => unclaimed.is_some_and(|at| task.created >= at),
            };
            task.kind == TaskKind::SliceVmRelease && later && touches
        });
        let view = View {
            state: slot.state,
            claim_active: occupied || last_claim.as_ref().is_some_and(|claim| claim.active),
            proof: proof(tx, &slot)?,
            node_online: node.is_some_and(|node| node.state == NodeState::Online && node.handed_over.is_none()),
            rewipe: orders_of(again, slot.life.state_since),
        };
        Ok(Some(Looked { slot, last_user: last_claim.map(|claim| claim.allocation_id), view }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.slot.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, _: &PlaneConfig) -> Next<State, Effect> {
        slot::decide(&looked.view, now)
    }

    fn perform(hands: &Hands<'_>, looked: &Looked, effect: Effect) -> Result<(), StoreError> {
        let Effect::OrderRewipe = effect;
        match &looked.last_user {
            Some(user) => order_rewipe(hands.leader, &looked.slot, user),
            None => Err(StoreError::Other("a slot that nobody used cannot be wiped again".into())),
        }
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let Looked { slot, view, .. } = looked;
        let (health, reason) = match (state, view.proof) {
            (State::Available, _) => (Health { state: "clean", detail: "Proved clean after its last use." }, "proved"),
            (_, ProofView::Missing) => {
                let detail = "The host gave no wipe proof for the last use.";
                (Health { state: "proof_missing", detail }, "proof_missing")
            }
            (_, ProofView::Faulty(fault)) => {
                (Health { state: &slot.health_state, detail: &slot.health_detail }, fault.as_str())
            }
            (_, ProofView::Valid) => (Health { state: &slot.health_state, detail: &slot.health_detail }, "proved"),
        };
        slots::enter(tx, stamp, slot, state, health, Some(reason))?;
        operations::finish_for(tx, slot.id.as_str(), state.as_str(), None, stamp.now)?;
        Ok(())
    }
}

/// Who used a slot last: the claim that began its latest use, on the slot itself or on its whole node.
fn last_claim(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<Option<ClaimRow>, StoreError> {
    let own = claims::of_slot(tx, &slot.id, 1)?.into_iter().next();
    match own.filter(|claim| claim.fence == slot.use_generation) {
        Some(claim) => Ok(Some(claim)),
        None => claims::last_exclusive(tx, &slot.node_id),
    }
}

fn proof(tx: &mut Tx<'_>, slot: &SlotRow) -> Result<ProofView, StoreError> {
    if proofs::of_latest(tx, slot)?.is_some() {
        return Ok(ProofView::Valid);
    }
    // A refused proof leaves its fault as the slot's state of health.
    Ok(slot.health_state.parse::<ProofFault>().map_or(ProofView::Missing, ProofView::Faulty))
}

fn order_rewipe(leader: &Leader, slot: &SlotRow, user: &AllocationId) -> Result<(), StoreError> {
    let (slot, user) = (slot.clone(), user.clone());
    let deadline = leader.now.plus_seconds(leader.config.order_deadline_s);
    leader.commit(move |tx, stamp| {
        // The slots of one use are wiped again at the same time; their orders are numbered one after the other.
        claims::occupancy_held(tx, &slot.node_id)?;
        let seen = unchanged(slots::get(tx, &slot.id)?, |found| found.version, slot.version)?;
        // A fresh challenge: what the last attempt could not prove, an old answer shall not.
        challenge(tx, stamp, &[seen])?;
        let challenged = slots::get(tx, &slot.id)?.ok_or(StoreError::NotFound)?;
        let allocation = allocations::get(tx, &user)?.ok_or(StoreError::NotFound)?;
        let attempt = by_attempt(tx, &user)?.last().map_or(0, |task| task.fence.attempt) + 1;
        let order = Order {
            node_id: &slot.node_id,
            allocation: &allocation,
            purpose: Purpose::Release,
            attempt,
            deadline,
            grace_s: None,
        };
        give(tx, stamp, &order, &[challenged])
    })
}
