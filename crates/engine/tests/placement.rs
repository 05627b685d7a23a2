//! Placement, by example and against a brute-force searcher that shares no code with it.
#![allow(clippy::unwrap_used)]

use engine::{Availability, Fleet, NodeView, Reason, Request, SlotView, Verdict, availability, place};
use model::{
    NodeId, PoolId, RegionId, SlotId, Timestamp,
    sku::CapacityShape,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use topology::{DeviceField, ModuleId, Partitions, simulated::hgx_partitions};

fn bits(n: u32) -> [u8; 10] {
    let mut bits = [0; 10];
    bits[6..].copy_from_slice(&n.to_be_bytes());
    bits
}

fn region(n: u32) -> RegionId {
    RegionId::from_parts(Timestamp::from_micros(0), bits(n))
}

fn node_id(n: u32) -> NodeId {
    NodeId::from_parts(Timestamp::from_micros(0), bits(n))
}

fn slot_id(node: u32, module: u32) -> SlotId {
    SlotId::from_parts(Timestamp::from_micros(0), bits(node * 100 + module))
}

fn node(n: u32) -> NodeView {
    NodeView {
        id: node_id(n),
        region_id: region(1),
        pool_id: PoolId::from_parts(Timestamp::from_micros(0), bits(1)),
        gpu_model: GpuModel::H200Sxm,
        slices_enabled: true,
        state: NodeState::Online,
        desired: NodeDesired::InService,
        promoted: true,
        occupancy: OccupancyMode::Free,
        partitions: Some(hgx_partitions()),
        slots: (1..=8)
            .map(|module| SlotView {
                id: slot_id(n, module),
                module_id: Some(ModuleId(module)),
                numa: Some((module - 1) / 4),
                state: SlotState::Available,
                missing: vec![],
                drifted: false,
            })
            .collect(),
    }
}

fn with_taken(n: u32, modules: &[u32]) -> NodeView {
    let mut node = node(n);
    node.occupancy = OccupancyMode::Sliced;
    for slot in node.slots.iter_mut().filter(|s| modules.contains(&s.module_id.unwrap().0)) {
        slot.state = SlotState::InUse;
    }
    node
}

fn slice(gpu_count: u32) -> Request {
    Request { shape: CapacityShape::GpuSlice, gpu_model: GpuModel::H200Sxm, gpu_count, region_id: region(1) }
}

fn bare_metal() -> Request {
    Request { shape: CapacityShape::Baremetal, ..slice(8) }
}

fn placed(nodes: Vec<NodeView>, request: &Request) -> (NodeId, Vec<u32>) {
    let fleet = Fleet { nodes };
    match place(&fleet, request) {
        Verdict::Placed { node_id, slot_ids, .. } => {
            let home = fleet.nodes.iter().find(|n| n.id == node_id).unwrap();
            let modules =
                home.slots.iter().filter(|s| slot_ids.contains(&s.id)).map(|s| s.module_id.unwrap().0).collect();
            (node_id, modules)
        }
        refused => panic!("{refused:?}"),
    }
}

fn only_reason(node: NodeView, request: &Request) -> Reason {
    match place(&Fleet { nodes: vec![node] }, request) {
        Verdict::Refused { nodes_by_reason, .. } => *nodes_by_reason.keys().next().unwrap(),
        placed => panic!("{placed:?}"),
    }
}

#[test]
fn a_slice_goes_to_a_node_that_is_already_sliced() {
    assert_eq!(placed(vec![node(1), with_taken(2, &[1])], &slice(1)).0, node_id(2));
}

#[test]
fn a_slice_fills_a_broken_pair_before_it_breaks_a_whole_one() {
    assert_eq!(placed(vec![with_taken(1, &[6])], &slice(1)), (node_id(1), vec![8]));
}

#[test]
fn a_pair_goes_into_the_half_that_is_already_broken() {
    assert_eq!(placed(vec![with_taken(1, &[5])], &slice(2)), (node_id(1), vec![6, 8]));
}

#[test]
fn among_nodes_that_lose_nothing_the_fullest_is_filled_first() {
    let nodes = vec![with_taken(1, &[1, 5]), with_taken(2, &[1, 2, 4, 5])];
    assert_eq!(placed(nodes, &slice(1)), (node_id(2), vec![3]));
}

#[test]
fn bare_metal_takes_the_pool_that_cannot_be_sliced_first_and_a_node_nobody_is_on() {
    let mut plain = node(3);
    plain.slices_enabled = false;
    let (home, modules) = placed(vec![with_taken(1, &[1]), node(2), plain], &bare_metal());
    assert_eq!((home, modules.len()), (node_id(3), 8));
}

#[test]
fn each_reason_for_passing_a_node_over_is_told_apart() {
    let changed = |change: fn(&mut NodeView)| {
        let mut node = node(1);
        change(&mut node);
        node
    };
    assert_eq!(only_reason(changed(|n| n.region_id = region(2)), &slice(1)), Reason::OtherRegion);
    assert_eq!(only_reason(changed(|n| n.gpu_model = GpuModel::A100Sxm), &slice(1)), Reason::OtherGpuModel);
    assert_eq!(only_reason(changed(|n| n.slices_enabled = false), &slice(1)), Reason::SlicesDisabled);
    assert_eq!(only_reason(changed(|n| n.desired = NodeDesired::Disabled), &slice(1)), Reason::OutOfUse);
    assert_eq!(only_reason(changed(|n| n.desired = NodeDesired::Drained), &bare_metal()), Reason::Draining);
    assert_eq!(only_reason(changed(|n| n.promoted = false), &slice(1)), Reason::NotPromoted);
    assert_eq!(only_reason(changed(|n| n.state = NodeState::Silent), &slice(1)), Reason::NotOnline);
    assert_eq!(only_reason(changed(|n| n.occupancy = OccupancyMode::Exclusive), &slice(1)), Reason::HeldAsBareMetal);
    assert_eq!(only_reason(changed(|n| n.occupancy = OccupancyMode::Sliced), &bare_metal()), Reason::HeldBySlices);
    assert_eq!(only_reason(changed(|n| n.partitions = None), &slice(1)), Reason::NoSuchSet);
    assert_eq!(only_reason(changed(|n| n.partitions = None), &bare_metal()), Reason::NoSuchSet);
    assert_eq!(only_reason(changed(|n| n.slots[0].drifted = true), &slice(8)), Reason::Drifted);
    assert_eq!(only_reason(changed(|n| n.slots[0].drifted = true), &bare_metal()), Reason::Drifted);
    assert_eq!(only_reason(node(1), &slice(3)), Reason::NoSuchSet);
    assert_eq!(only_reason(node(1), &slice(0)), Reason::NoSuchSet);
    assert_eq!(only_reason(with_taken(1, &[1, 2, 3, 5, 6]), &slice(4)), Reason::TooFewFree);
    assert_eq!(only_reason(with_taken(1, &[1, 5]), &slice(4)), Reason::FreeButScattered);
    assert_eq!(
        only_reason(changed(|n| n.slots[3].state = SlotState::CleanupBlocked), &bare_metal()),
        Reason::TooFewFree
    );
}

#[test]
fn a_refusal_counts_what_is_free_and_what_is_free_together() {
    let nodes = vec![with_taken(1, &[1, 5]), with_taken(2, &[1, 2, 3, 4, 5, 7])];
    let verdict = place(&Fleet { nodes }, &slice(4));
    let Verdict::Refused { free_gpus_in_region, largest_set_on_one_node, nodes_by_reason } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!((free_gpus_in_region, largest_set_on_one_node), (8, 2));
    assert_eq!(
        nodes_by_reason.into_iter().collect::<Vec<_>>(),
        [(Reason::TooFewFree, 1), (Reason::FreeButScattered, 1)]
    );
}

#[test]
fn an_available_row_with_a_device_missing_is_not_sold() {
    let mut one = node(1);
    for slot in &mut one.slots {
        slot.missing = vec![DeviceField::NvmeIdentity];
    }
    assert_eq!(only_reason(one, &slice(1)), Reason::TooFewFree);
}

#[test]
fn a_drifted_slot_is_not_sold_and_the_others_are() {
    let mut one = with_taken(1, &[1, 2, 3, 4, 5]);
    one.slots[5].drifted = true;
    assert_eq!(placed(vec![one.clone()], &slice(1)).1.len(), 1);
    assert_ne!(placed(vec![one.clone()], &slice(1)).1, [6]);
    one.slots[6].drifted = true;
    one.slots[7].drifted = true;
    assert_eq!(only_reason(one, &slice(1)), Reason::Drifted);
}

#[test]
fn bare_metal_needs_no_promotion() {
    let mut one = node(1);
    one.promoted = false;
    assert_eq!(placed(vec![one], &bare_metal()).0, node_id(1));
}

#[test]
fn what_is_available_is_counted_by_region_and_model() {
    let mut elsewhere = node(3);
    elsewhere.region_id = region(2);
    elsewhere.promoted = false;
    let mut drained = node(4);
    drained.desired = NodeDesired::Drained;
    let fleet = Fleet { nodes: vec![node(1), with_taken(2, &[1, 5]), elsewhere, drained] };
    let all = availability(&fleet);
    let at = |n| all.get(&(region(n), GpuModel::H200Sxm)).copied();
    assert_eq!(at(1), Some(Availability { slice_gpus: 14, largest_slice: 8, whole_nodes: 1 }));
    assert_eq!(at(2), Some(Availability { slice_gpus: 0, largest_slice: 0, whole_nodes: 1 }));
    assert_eq!(at(3), None);
}

#[test]
fn two_rows_for_one_gpu_are_both_distrusted() {
    let mut one = node(1);
    one.slots.truncate(2);
    one.slots[1].module_id = Some(ModuleId(1));
    assert_eq!(only_reason(one, &slice(1)), Reason::TooFewFree);
}

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

fn any_slot() -> impl Strategy<Value = (SlotState, (bool, bool), Option<u32>, u32)> {
    let state = prop_oneof![5 => Just(SlotState::Available), 1 => prop::sample::select(SlotState::ALL)];
    let module = prop_oneof![8 => Just(None), 1 => (1u32..=9).prop_map(Some)];
    (state, (prop::bool::weighted(0.1), prop::bool::weighted(0.1)), module, 0u32..2)
}

fn any_node() -> impl Strategy<Value = NodeView> {
    let mode = prop::sample::select(OccupancyMode::ALL);
    let state = prop_oneof![4 => Just(NodeState::Online), 1 => prop::sample::select(NodeState::ALL)];
    let models = prop_oneof![4 => Just(GpuModel::H200Sxm), 1 => Just(GpuModel::A100Sxm)];
    let desired = prop_oneof![6 => Just(NodeDesired::InService), 1 => prop::sample::select(NodeDesired::ALL)];
    let wishes = (prop::bool::weighted(0.8), prop::bool::weighted(0.9), desired);
    let places = (prop_oneof![4 => Just(1u32), 1 => Just(2)], wishes);
    let partitions = prop::option::weighted(0.95, any_partitions());
    (mode, state, models, places, partitions, prop::collection::vec(any_slot(), 0..9)).prop_map(
        |(occupancy, state, gpu_model, (in_region, (slices_enabled, promoted, desired)), partitions, slots)| {
            let mut view = node(0);
            (view.promoted, view.desired) = (promoted, desired);
            (view.occupancy, view.state, view.gpu_model) = (occupancy, state, gpu_model);
            (view.region_id, view.slices_enabled, view.partitions) = (region(in_region), slices_enabled, partitions);
            view.slots = slots
                .into_iter()
                .zip(1u32..)
                .map(|((state, (incomplete, drifted), module, numa), at)| SlotView {
                    id: slot_id(0, at),
                    // Mostly its own GPU; now and then somebody else's, or one that is not on the board.
                    module_id: Some(ModuleId(module.unwrap_or(at))).filter(|m| m.0 != 9),
                    numa: Some(numa),
                    state,
                    missing: if incomplete { vec![DeviceField::MgmtMac] } else { vec![] },
                    drifted,
                })
                .collect();
            view
        },
    )
}

fn any_fleet() -> impl Strategy<Value = Fleet> {
    prop::collection::vec(any_node(), 0..5).prop_map(|mut nodes| {
        for (node, n) in nodes.iter_mut().zip(1u32..) {
            node.id = node_id(n);
            for (slot, at) in node.slots.iter_mut().zip(1u32..) {
                slot.id = slot_id(n, at);
            }
        }
        Fleet { nodes }
    })
}

fn any_request() -> impl Strategy<Value = Request> {
    let shape = prop::sample::select(CapacityShape::ALL);
    (shape, 0u32..=9).prop_map(|(shape, gpu_count)| Request { shape, ..slice(gpu_count) })
}

// Every slot set that would be a right answer, found the slow way: try all subsets of a node's slots.
fn right_answers(fleet: &Fleet, request: &Request) -> Vec<(NodeId, BTreeSet<SlotId>)> {
    let mut answers = vec![];
    for node in &fleet.nodes {
        for mask in 1u32..(1 << node.slots.len()) {
            let chosen: Vec<&SlotView> =
                node.slots.iter().enumerate().filter(|(at, _)| mask & (1 << at) != 0).map(|(_, s)| s).collect();
            if is_right(node, &chosen, request) {
                answers.push((node.id.clone(), chosen.iter().map(|s| s.id.clone()).collect()));
            }
        }
    }
    answers
}

fn is_right(node: &NodeView, chosen: &[&SlotView], request: &Request) -> bool {
    let modules: BTreeSet<ModuleId> = chosen.iter().filter_map(|s| s.module_id).collect();
    let named_once = |s: &&SlotView| node.slots.iter().filter(|other| other.module_id == s.module_id).count() == 1;
    let clean =
        chosen.iter().all(|s| s.state == SlotState::Available && s.missing.is_empty() && !s.drifted && named_once(s));
    let here = node.region_id == request.region_id
        && node.gpu_model == request.gpu_model
        && node.state == NodeState::Online
        && node.desired == NodeDesired::InService;
    let Some(partitions) = &node.partitions else { return false };
    let counted = chosen.len() == usize::try_from(request.gpu_count).unwrap() && modules.len() == chosen.len();
    let shaped = match request.shape {
        CapacityShape::GpuSlice => {
            node.slices_enabled
                && node.promoted
                && node.occupancy != OccupancyMode::Exclusive
                && partitions.sets().contains(&modules)
        }
        CapacityShape::Baremetal => {
            node.occupancy == OccupancyMode::Free && chosen.len() == node.slots.len() && modules == *partitions.board()
        }
    };
    here && clean && counted && shaped
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_answer_is_right_and_a_refusal_means_there_was_none(fleet in any_fleet(), request in any_request()) {
        let answers = right_answers(&fleet, &request);
        match place(&fleet, &request) {
            Verdict::Placed { node_id, slot_ids, considered } => {
                let distinct: BTreeSet<SlotId> = slot_ids.iter().cloned().collect();
                prop_assert_eq!(distinct.len(), slot_ids.len());
                prop_assert!(slot_ids.is_sorted());
                prop_assert!(answers.contains(&(node_id, distinct)));
                prop_assert_eq!(usize::try_from(considered.sets).unwrap(), answers.len());
            }
            Verdict::Refused { free_gpus_in_region, nodes_by_reason, largest_set_on_one_node } => {
                prop_assert!(answers.is_empty(), "{:?}", answers);
                prop_assert!(largest_set_on_one_node <= free_gpus_in_region);
                prop_assert_eq!(usize::try_from(nodes_by_reason.values().sum::<u32>()).unwrap(), fleet.nodes.len());
            }
        }
    }

    #[test]
    fn what_is_available_is_what_would_be_placed(fleet in any_fleet()) {
        let here = availability(&fleet).get(&(region(1), GpuModel::H200Sxm)).copied().unwrap_or_default();
        let fits = |request: &Request| matches!(place(&fleet, request), Verdict::Placed { .. });
        let largest = (1..=9).rev().find(|size| fits(&slice(*size))).unwrap_or(0);
        prop_assert_eq!(here.largest_slice, largest);
        prop_assert_eq!(here.slice_gpus == 0, largest == 0);
        let whole = (1..=9).any(|gpu_count| fits(&Request { gpu_count, ..bare_metal() }));
        prop_assert_eq!(here.whole_nodes > 0, whole);
    }

    #[test]
    fn the_order_of_rows_never_matters(fleet in any_fleet(), request in any_request(), turns in 0usize..8) {
        let mut shuffled = fleet.clone();
        shuffled.nodes.reverse();
        let by = turns % shuffled.nodes.len().max(1);
        shuffled.nodes.rotate_left(by);
        for node in &mut shuffled.nodes {
            node.slots.reverse();
            let by = turns % node.slots.len().max(1);
            node.slots.rotate_left(by);
        }
        prop_assert_eq!(place(&fleet, &request), place(&shuffled, &request));
    }

    #[test]
    fn a_clean_node_is_not_opened_while_a_sliced_one_would_do(fleet in any_fleet(), size in 1u32..=8) {
        let request = slice(size);
        if let Verdict::Placed { node_id, .. } = place(&fleet, &request) {
            let mode = |id: &NodeId| fleet.nodes.iter().find(|n| n.id == *id).unwrap().occupancy;
            let sliced_would_do = right_answers(&fleet, &request).iter().any(|(id, _)| mode(id) == OccupancyMode::Sliced);
            prop_assert_eq!(mode(&node_id) == OccupancyMode::Sliced, sliced_would_do);
        }
    }
}

#[test]
fn a_verdict_is_stored_and_read_back_whole() {
    for request in [slice(2), slice(3)] {
        let verdict = place(&Fleet { nodes: vec![node(1), with_taken(2, &[1])] }, &request);
        let text = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict, "{text}");
    }
}
