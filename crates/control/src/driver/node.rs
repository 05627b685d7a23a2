//! Nodes: heard of, or not. When a node comes back, everything that waited for it is looked at again.

use lifecycle::{
    Next, NoEffect,
    node::{self, State, View},
};
use model::{Timestamp, supply::SlotState};
use store::{
    Stamp, StoreError, Tx, claims,
    living::{self, Living as Table, Seen},
    nodes::{self, NodeRow},
    operations, slots,
};

use super::{Hands, Living, id_of};
use crate::plane::PlaneConfig;

/// Nodes.
pub(crate) struct Nodes;

impl Living for Nodes {
    const TABLE: Table = Table::Nodes;
    type Looked = NodeRow;
    type State = State;
    type Effect = NoEffect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<NodeRow>, StoreError> {
        nodes::get(tx, &id_of(id)?)
    }

    fn seen(node: &NodeRow) -> Seen<'_> {
        node.seen()
    }

    fn decide(node: &NodeRow, now: Timestamp, _: &PlaneConfig) -> Next<State, NoEffect> {
        node::decide(&View { state: node.state, last_seen: node.last_seen }, now)
    }

    fn perform(_: &Hands<'_>, _: &NodeRow, effect: NoEffect) -> Result<(), StoreError> {
        match effect {}
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow, state: State) -> Result<(), StoreError> {
        nodes::enter(tx, stamp, node, state, None)?;
        operations::finish_for(tx, node.id.as_str(), state.as_str(), None, stamp.now)?;
        if state == State::Online {
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
