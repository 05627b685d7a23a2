//! Fleets and requests by chance: mostly sound, with every fault that rows can have now and then.

use super::{allocation, node, node_id, pool, project, region, slice, slot_id, tenant};
use engine::{Fleet, NodeView, Occupant, Policy, Request, SlotView};
use model::{
    Timestamp,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use topology::{DeviceField, ModuleId, Partitions, simulated::hgx_partitions};

// A random small board: its table always has the whole, and any other sets that fall out.
fn any_partitions() -> impl Strategy<Value = Partitions> {
    prop_oneof![
        2 => Just(hgx_partitions()),
        1 => prop::collection::vec(prop::collection::btree_set(1u32..=6, 1..=4), 0..6).prop_map(|sets| {
            let board: Vec<ModuleId> = (1..=6).map(ModuleId).collect();
            let mut distinct: BTreeSet<BTreeSet<u32>> = sets.into_iter().collect();
            distinct.insert((1..=6).collect());
            let sets: Vec<Vec<ModuleId>> = distinct.into_iter().map(|s| s.into_iter().map(ModuleId).collect()).collect();
            Partitions::new(&board, &sets).unwrap()
        }),
    ]
}

fn any_slot() -> impl Strategy<Value = SlotView> {
    let state = prop_oneof![5 => Just(SlotState::Available), 2 => Just(SlotState::InUse), 1 => prop::sample::select(SlotState::ALL)];
    // Mostly its own GPU; now and then somebody else's, or one that is not on the board.
    let module = prop_oneof![12 => Just(None), 1 => (1u32..=9).prop_map(Some)];
    let wiring = (prop::option::weighted(0.9, 0u32..2), prop::option::of(0u32..3), prop::option::of(0u32..3));
    let faults = (prop::bool::weighted(0.08), prop::bool::weighted(0.08));
    (state, faults, module, wiring, 0u32..3).prop_map(|(state, (incomplete, drifted), module, wiring, wear)| SlotView {
        id: slot_id(0, 0),
        module_id: module.map(ModuleId),
        numa: wiring.0,
        pcie_switch: wiring.1,
        rail: wiring.2,
        state,
        since: (state == SlotState::CleanupBlocked).then(|| Timestamp::from_micros(i64::from(wear) * 60_000_000)),
        missing: if incomplete { vec![DeviceField::MgmtMac] } else { vec![] },
        drifted,
        wear,
    })
}

fn any_co_tenancy() -> impl Strategy<Value = CoTenancy> {
    prop_oneof![3 => Just(CoTenancy::Any), 1 => Just(CoTenancy::SameTenant)]
}

fn any_group() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::sample::select(vec!["a".to_owned(), "b".to_owned()]))
}

// Whose it is, and how many of the claimed slots it has.
fn any_occupant() -> impl Strategy<Value = (Occupant, usize)> {
    (1u32..=2, any_group(), any_co_tenancy(), 0usize..4).prop_map(|(whose, group, co_tenancy, slots)| {
        let occupant = Occupant {
            allocation_id: allocation(0),
            tenant_id: tenant(whose),
            project_id: project(whose),
            group,
            co_tenancy,
            slot_ids: vec![],
        };
        (occupant, slots)
    })
}

pub fn any_node() -> impl Strategy<Value = NodeView> {
    let mode = prop::sample::select(OccupancyMode::ALL);
    let state = prop_oneof![8 => Just(NodeState::Online), 1 => prop::sample::select(NodeState::ALL)];
    let models = prop_oneof![6 => Just(GpuModel::H200Sxm), 1 => Just(GpuModel::A100Sxm)];
    let desired = prop_oneof![8 => Just(NodeDesired::InService), 1 => prop::sample::select(NodeDesired::ALL)];
    let wishes = (prop::bool::weighted(0.85), prop::bool::weighted(0.9), desired);
    let places = (prop_oneof![6 => Just(1u32), 1 => Just(2)], 1u32..=2, wishes);
    let partitions = prop::option::weighted(0.95, any_partitions());
    let slots = prop::collection::vec(any_slot(), 0..9);
    let occupants = prop::collection::vec(any_occupant(), 0..4);
    (mode, state, models, places, partitions, slots, occupants).prop_map(
        |(occupancy, state, gpu_model, (in_region, in_pool, wishes), partitions, slots, occupants)| {
            let mut view = node(0);
            (view.slices_enabled, view.promoted, view.desired) = wishes;
            (view.occupancy, view.state, view.gpu_model) = (occupancy, state, gpu_model);
            (view.region_id, view.pool_id, view.partitions) = (region(in_region), pool(in_pool), partitions);
            view.slots = slots;
            view.occupants = occupants.into_iter().map(|(occupant, _)| occupant).collect();
            view
        },
    )
}

// Gives a node its number, and its claimed slots to its occupants, a few each; some stay nobody's.
fn numbered(mut node: NodeView, n: u32) -> NodeView {
    node.id = node_id(n);
    for (slot, at) in node.slots.iter_mut().zip(1u32..) {
        slot.id = slot_id(n, at);
        slot.module_id = Some(slot.module_id.unwrap_or(ModuleId(at))).filter(|module| module.0 != 9);
    }
    let taken = |slot: &&SlotView| matches!(slot.state, SlotState::InUse | SlotState::Reserved);
    let mut taken = node.slots.iter().filter(taken).map(|slot| slot.id.clone());
    for (occupant, at) in node.occupants.iter_mut().zip(1usize..) {
        occupant.allocation_id = allocation(n * 10 + u32::try_from(at).unwrap());
        occupant.slot_ids = taken.by_ref().take(at % 3).collect();
    }
    node
}

pub fn any_fleet(most: usize) -> impl Strategy<Value = Fleet> {
    prop::collection::vec(any_node(), 0..most)
        .prop_map(|nodes| Fleet { nodes: nodes.into_iter().zip(1u32..).map(|(node, n)| numbered(node, n)).collect() })
}

/// A node that may take the place of one of a fleet.
pub fn any_numbered_node(most: u32) -> impl Strategy<Value = NodeView> {
    (any_node(), 1..=most).prop_map(|(node, n)| numbered(node, n))
}

pub fn any_request() -> impl Strategy<Value = Request> {
    let shape = prop_oneof![3 => Just(CapacityShape::GpuSlice), 1 => Just(CapacityShape::Baremetal)];
    let size = prop_oneof![4 => prop::sample::select(vec![1u32, 2, 4, 6, 8]), 1 => 0u32..=9];
    let pool_id = prop_oneof![3 => Just(None), 1 => (1u32..=3).prop_map(|n| Some(pool(n)))];
    let spread = prop::sample::select(Spread::ALL);
    (shape, size, pool_id, 1u32..=3, any_group(), spread, any_co_tenancy()).prop_map(
        |(shape, gpu_count, pool_id, whose, group, spread, co_tenancy)| Request {
            shape,
            pool_id,
            tenant_id: tenant(whose),
            project_id: project(whose),
            group,
            spread,
            co_tenancy,
            ..slice(gpu_count)
        },
    )
}

pub fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![2 => Just(0u32), 1 => 0u32..3]
        .prop_map(|keep_whole_nodes| Policy { keep_whole_nodes, ..Policy::default() })
}
