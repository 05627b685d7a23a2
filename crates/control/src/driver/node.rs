//! Nodes: heard of, or not. When a node comes back it is compared with what is claimed on it, and everything that waited for it
//! is looked at again. A node that is turned
//! into something else becomes it here, once nobody holds it and all of it is proved clean.

use std::collections::BTreeSet;

use lifecycle::{
    Next,
    node::{self, Conversion, Effect, State, View},
};
use model::{
    Timestamp,
    supply::{NodeDesired, NodeProfile, SlotState},
};
use store::{
    Stamp, StoreError, Tx, claims,
    living::{self, Living as Table, Seen},
    nodes::{self, NodeRow},
    operations, slots,
};

use super::{Hands, Living, id_of, write_json};
use crate::{comparison, leader::unchanged, plane::PlaneConfig};

/// Nodes.
pub(crate) struct Nodes;

/// A node with everything its decider sees.
pub(crate) struct Looked {
    node: NodeRow,
    conversion: Option<Conversion>,
}

impl Living for Nodes {
    const TABLE: Table = Table::Nodes;
    type Looked = Looked;
    type State = State;
    type Effect = Effect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(node) = nodes::get(tx, &id_of(id)?)? else { return Ok(None) };
        let conversion = match node.converting {
            Some((to, _)) => Some(conversion(tx, &node, to)?),
            None => None,
        };
        Ok(Some(Looked { node, conversion }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.node.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, _: &PlaneConfig) -> Next<State, Effect> {
        let Looked { node, conversion } = looked;
        let (state, last_seen, handed_over) = (node.state, node.last_seen, node.handed_over.is_some());
        node::decide(&View { state, last_seen, handed_over, conversion: *conversion }, now)
    }

    fn perform(hands: &Hands<'_>, looked: &Looked, effect: Effect) -> Result<(), StoreError> {
        let Effect::Convert = effect;
        let seen = looked.node.clone();
        hands.leader.commit(move |tx, stamp| {
            let node = unchanged(nodes::get(tx, &seen.id)?, |found| found.version, seen.version)?;
            let Some((to, _)) = node.converting else { return Ok(()) };
            let Conversion { holders, unproved, .. } = conversion(tx, &node, to)?;
            if holders > 0 || unproved > 0 {
                return Err(StoreError::StaleVersion);
            }
            convert(tx, stamp, &node, to)
        })
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let node = &looked.node;
        nodes::enter(tx, stamp, node, state, None)?;
        operations::finish_for(tx, node.id.as_str(), state.as_str(), None, stamp.now)?;
        if state == State::Online {
            if node.state == State::Silent {
                comparison::on_return(tx, stamp, node)?;
            }
            for claim in claims::active_on_node(tx, &node.id)? {
                living::poke(tx, Table::Allocations, claim.allocation_id.as_str(), stamp.now)?;
            }
            for slot in slots::of_node(tx, &node.id)?.iter().filter(|slot| slot.state == SlotState::CleanupBlocked) {
                living::poke(tx, Table::Slots, slot.id.as_str(), stamp.now)?;
            }
        }
        Ok(())
    }
}

/// What is in the way of a node's conversion.
fn conversion(tx: &mut Tx<'_>, node: &NodeRow, to: NodeProfile) -> Result<Conversion, StoreError> {
    let holders: BTreeSet<_> =
        claims::active_on_node(tx, &node.id)?.into_iter().map(|claim| claim.allocation_id).collect();
    let slots = slots::of_node(tx, &node.id)?;
    let proved = |state| matches!(state, SlotState::Available | SlotState::Disabled);
    let unproved = slots.iter().filter(|slot| !proved(slot.state)).count();
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(Conversion { to, holders: number(holders.len()), unproved: number(unproved) })
}

fn convert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, to: NodeProfile) -> Result<(), StoreError> {
    nodes::converted(tx, stamp, node, &write_json(&[to])?)?;
    let node = nodes::get(tx, &node.id)?.ok_or(StoreError::NotFound)?;
    // Whoever took it out of use meanwhile had a reason of their own.
    if node.desired == NodeDesired::Drained && node.desired_reason == conversion_reason(to) {
        nodes::wish(tx, stamp, &node, NodeDesired::InService, "")?;
    }
    Ok(())
}

/// Why a node that is being turned into something else takes nothing new.
pub(crate) fn conversion_reason(to: NodeProfile) -> String {
    format!("It is being turned into {to}.")
}
