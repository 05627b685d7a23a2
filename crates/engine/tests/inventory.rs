//! The inventory changes node by node: whatever happens to it, it answers like one that was built anew from the same rows,
//! and nothing is ever sold twice.
#![allow(clippy::unwrap_used)]

mod support;

use engine::{Fleet, Inventory, NodeView, Occupant, Policy, Request, Unclaimable, Verdict};
use model::{
    AllocationId, NodeId, SlotId,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::{OccupancyMode, SlotState},
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use support::{
    allocation, bare_metal,
    chance::{any_fleet, any_numbered_node, any_policy, any_request},
    node, node_id, occupant, slice, slot_id,
};

const NODES: u32 = 5;

/// What can happen to an inventory.
#[derive(Debug, Clone)]
enum Event {
    Put(NodeView),
    Remove(u32),
    /// Place a request, and claim what it got.
    Launch(Request),
    /// End one of the allocations that live.
    End(usize, SlotState),
    /// Slots of a node change their state.
    Turn(u32, u32, SlotState),
}

fn any_event() -> impl Strategy<Value = Event> {
    let after_use = prop::sample::select(vec![SlotState::Available, SlotState::Wiping, SlotState::CleanupBlocked]);
    prop_oneof![
        2 => any_numbered_node(NODES).prop_map(Event::Put),
        1 => (1..=NODES).prop_map(Event::Remove),
        6 => any_request().prop_map(Event::Launch),
        4 => (0usize..8, after_use).prop_map(|(which, into)| Event::End(which, into)),
        2 => (1..=NODES, 1u32..=8, prop::sample::select(SlotState::ALL)).prop_map(|(n, at, into)| Event::Turn(n, at, into)),
    ]
}

/// The rows behind an inventory, changed the plain way.
struct Rows {
    nodes: BTreeMap<NodeId, NodeView>,
    launched: u32,
}

impl Rows {
    fn fleet(&self) -> Fleet {
        Fleet { nodes: self.nodes.values().cloned().collect() }
    }

    fn happen(&mut self, event: &Event, inventory: &mut Inventory) {
        match event {
            Event::Put(node) => {
                inventory.put(node);
                self.nodes.insert(node.id.clone(), node.clone());
            }
            Event::Remove(n) => {
                assert_eq!(inventory.remove(&node_id(*n)), self.nodes.remove(&node_id(*n)).is_some());
            }
            Event::Launch(request) => self.launch(request, inventory),
            Event::End(which, into) => self.end(*which, *into, inventory),
            Event::Turn(n, at, into) => {
                let (id, slot) = (node_id(*n), slot_id(*n, *at));
                let node = self.nodes.get_mut(&id);
                assert_eq!(inventory.turn(&id, std::slice::from_ref(&slot), *into, None), node.is_some());
                for row in node.into_iter().flat_map(|node| &mut node.slots).filter(|row| row.id == slot) {
                    (row.state, row.since) = (*into, None);
                }
            }
        }
    }

    fn launch(&mut self, request: &Request, inventory: &mut Inventory) {
        let Verdict::Placed(found) = inventory.place(request) else { return };
        self.launched += 1;
        let occupant = Occupant {
            allocation_id: allocation(100_000 + self.launched),
            tenant_id: request.tenant_id.clone(),
            project_id: request.project_id.clone(),
            group: request.group.clone(),
            co_tenancy: request.co_tenancy,
            slot_ids: found.slot_ids.clone(),
        };
        assert_eq!(inventory.claim(&found.chosen.node_id, request.shape, &occupant), Ok(()));
        let again = inventory.claim(&found.chosen.node_id, request.shape, &occupant);
        assert!(again.is_err(), "nothing is claimed twice");
        let node = self.nodes.get_mut(&found.chosen.node_id).unwrap();
        for row in node.slots.iter_mut().filter(|row| found.slot_ids.contains(&row.id)) {
            assert_eq!(row.state, SlotState::Available);
            (row.state, row.since, row.wear) = (SlotState::Reserved, None, row.wear + 1);
        }
        node.occupancy = match request.shape {
            CapacityShape::GpuSlice => OccupancyMode::Sliced,
            CapacityShape::Baremetal => OccupancyMode::Exclusive,
        };
        node.occupants.push(occupant);
    }

    fn end(&mut self, which: usize, into: SlotState, inventory: &mut Inventory) {
        let living: Vec<(NodeId, AllocationId)> = self
            .nodes
            .values()
            .flat_map(|node| node.occupants.iter().map(|there| (node.id.clone(), there.allocation_id.clone())))
            .collect();
        let Some((id, gone)) = living.get(which) else { return };
        assert!(inventory.release(id, gone, into, None));
        assert!(!inventory.release(id, gone, into, None));
        let node = self.nodes.get_mut(id).unwrap();
        let at = node.occupants.iter().position(|there| there.allocation_id == *gone).unwrap();
        let occupant = node.occupants.remove(at);
        for row in node.slots.iter_mut().filter(|row| occupant.slot_ids.contains(&row.id)) {
            (row.state, row.since) = (into, None);
        }
        if node.occupants.is_empty() {
            node.occupancy = OccupancyMode::Free;
        }
    }
}

fn held(rows: &Rows) -> Vec<SlotId> {
    let launched = |there: &&Occupant| there.allocation_id >= allocation(100_000);
    rows.nodes.values().flat_map(|n| &n.occupants).filter(launched).flat_map(|there| there.slot_ids.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn whatever_happened_it_answers_like_one_built_anew(
        fleet in any_fleet(5),
        policy in any_policy(),
        events in prop::collection::vec(any_event(), 0..24),
        requests in prop::collection::vec(any_request(), 4),
    ) {
        let mut inventory = Inventory::new(&fleet, policy.clone());
        let mut rows = Rows { nodes: fleet.nodes.into_iter().map(|n| (n.id.clone(), n)).collect(), launched: 0 };
        for event in &events {
            rows.happen(event, &mut inventory);
            let anew = Inventory::new(&rows.fleet(), policy.clone());
            prop_assert_eq!(inventory.len(), anew.len());
            prop_assert_eq!(inventory.availability(), anew.availability());
            for request in &requests {
                let answer = inventory.place(request);
                prop_assert_eq!(&answer, &anew.place(request));
                let spot = inventory.find(request).map(|spot| (spot.node_id, spot.slot_ids));
                let placed = match answer {
                    Verdict::Placed(found) => Some((found.chosen.node_id, found.slot_ids)),
                    Verdict::Refused(_) => None,
                };
                prop_assert_eq!(spot, placed);
            }
        }
    }

    #[test]
    fn a_node_that_was_kept_comes_back_as_it_was_whatever_was_tried_on_it(
        fleet in any_fleet(5),
        policy in any_policy(),
        events in prop::collection::vec(any_event(), 0..12),
        requests in prop::collection::vec(any_request(), 4),
    ) {
        let mut inventory = Inventory::new(&fleet, policy.clone());
        let kept: Vec<_> = fleet.nodes.iter().filter_map(|node| inventory.keep(&node.id)).collect();
        let mut rows = Rows { nodes: fleet.nodes.iter().map(|n| (n.id.clone(), n.clone())).collect(), launched: 0 };
        for event in events.iter().filter(|event| !matches!(event, Event::Put(_) | Event::Remove(_))) {
            rows.happen(event, &mut inventory);
        }
        kept.into_iter().for_each(|node| inventory.put_back(node));
        let anew = Inventory::new(&fleet, policy);
        prop_assert_eq!(inventory.availability(), anew.availability());
        for request in &requests {
            prop_assert_eq!(inventory.place(request), anew.place(request));
        }
    }

    #[test]
    fn nothing_is_sold_twice_and_nobody_is_put_beside_whom_it_does_not_tolerate(
        nodes in 1u32..5, requests in prop::collection::vec(any_request(), 1..40), ends in prop::collection::vec(0usize..12, 0..20),
    ) {
        let fleet = Fleet { nodes: (1..=nodes).map(node).collect() };
        let mut inventory = Inventory::new(&fleet, Policy::default());
        let mut rows = Rows { nodes: fleet.nodes.into_iter().map(|n| (n.id.clone(), n)).collect(), launched: 0 };
        for (request, at) in requests.iter().zip(0usize..) {
            rows.happen(&Event::Launch(request.clone()), &mut inventory);
            if let Some(which) = ends.get(at) {
                rows.happen(&Event::End(*which, SlotState::Available), &mut inventory);
            }
            let slots = held(&rows);
            prop_assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len());
            for node in rows.nodes.values() {
                let closed = node.occupants.iter().any(|there| there.co_tenancy == CoTenancy::SameTenant);
                let tenants: BTreeSet<_> = node.occupants.iter().map(|there| &there.tenant_id).collect();
                prop_assert!(!closed || tenants.len() == 1);
                prop_assert!(node.occupancy != OccupancyMode::Exclusive || node.occupants.len() == 1);
            }
        }
    }
}

#[test]
fn a_claim_that_cannot_be_is_refused_and_changes_nothing() {
    let mut inventory = Inventory::new(&Fleet { nodes: vec![node(1)] }, Policy::default());
    let wants =
        |slots: &[u32]| Occupant { slot_ids: slots.iter().map(|at| slot_id(1, *at)).collect(), ..occupant(7, 1) };
    let before = inventory.place(&bare_metal());
    assert_eq!(inventory.claim(&node_id(2), CapacityShape::GpuSlice, &wants(&[1])), Err(Unclaimable::NoSuchNode));
    let unknown = Err(Unclaimable::NotFree(slot_id(1, 9)));
    assert_eq!(inventory.claim(&node_id(1), CapacityShape::GpuSlice, &wants(&[1, 9])), unknown);
    assert_eq!(inventory.place(&bare_metal()), before);
    assert_eq!(inventory.claim(&node_id(1), CapacityShape::GpuSlice, &wants(&[1])), Ok(()));
    assert_eq!(inventory.claim(&node_id(1), CapacityShape::Baremetal, &wants(&[2])), Err(Unclaimable::Held));
    let taken = Err(Unclaimable::NotFree(slot_id(1, 1)));
    assert_eq!(inventory.claim(&node_id(1), CapacityShape::GpuSlice, &wants(&[2, 1])), taken);
}

#[test]
fn kinds_that_come_and_go_by_the_thousand_do_not_pile_up_or_mix() {
    let mut inventory = Inventory::new(&Fleet { nodes: vec![node(1), node(2)] }, Policy::default());
    // Every number of slots that wait for a proof, in every place, is another kind of node.
    for mask in 0u32..4000 {
        let mut changed = node(1);
        for (slot, at) in changed.slots.iter_mut().zip(0u32..) {
            slot.wear = mask;
            slot.drifted = mask & (1 << at) != 0;
            slot.state = if mask & (16 << at) != 0 { SlotState::CleanupBlocked } else { SlotState::Available };
            slot.missing = if mask & (8 << at) != 0 { vec![topology::DeviceField::MgmtMac] } else { vec![] };
        }
        inventory.put(&changed);
        let anew = Inventory::new(&Fleet { nodes: vec![node(2), changed] }, Policy::default());
        assert_eq!(inventory.place(&slice(2)), anew.place(&slice(2)));
        assert_eq!(inventory.place(&slice(3)), anew.place(&slice(3)));
    }
}

#[test]
fn a_group_is_forgotten_with_its_last_allocation_on_a_node() {
    let web = |n| Occupant { group: Some("web".to_owned()), slot_ids: vec![slot_id(1, n)], ..occupant(n, 1) };
    let asked = Request { group: Some("web".to_owned()), spread: Spread::Require, ..slice(1) };
    let mut inventory = Inventory::new(&Fleet { nodes: vec![node(1)] }, Policy::default());
    for n in [1, 2] {
        assert_eq!(inventory.claim(&node_id(1), CapacityShape::GpuSlice, &web(n)), Ok(()));
    }
    assert_eq!(inventory.find(&asked), None);
    assert!(inventory.release(&node_id(1), &allocation(1), SlotState::Available, None));
    assert_eq!(inventory.find(&asked), None);
    assert!(inventory.release(&node_id(1), &allocation(2), SlotState::Available, None));
    assert!(inventory.find(&asked).is_some());
}
