//! Placement by example, and what must hold for every fleet.
#![allow(clippy::unwrap_used)]

mod support;

use engine::{Availability, Fleet, NodeView, Reason, Request, SetKind, Verdict, availability, place};
use model::{
    NodeId,
    placement::{CoTenancy, Spread},
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode, SlotState},
};
use proptest::prelude::*;
use support::{
    bare_metal,
    chance::{any_fleet, any_policy, any_request},
    node, node_id, occupant, oracle, placed, placement, pool, refusal, region, slice, tenant, with_occupant,
    with_taken,
};
use topology::{DeviceField, ModuleId};

fn only_reason(node: NodeView, request: &Request) -> Reason {
    let reasons = refusal(place(&Fleet { nodes: vec![node] }, request)).nodes_by_reason;
    assert_eq!(reasons.values().copied().collect::<Vec<_>>(), [1]);
    *reasons.keys().next().unwrap()
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
        Reason::CleanupBlocked
    );
    assert_eq!(only_reason(changed(|n| n.slots[3].state = SlotState::Wiping), &bare_metal()), Reason::BeingWiped);
    assert_eq!(only_reason(changed(|n| n.slots[3].state = SlotState::Disabled), &slice(8)), Reason::TooFewFree);
    assert_eq!(only_reason(node(1), &Request { pool_id: Some(pool(2)), ..slice(1) }), Reason::OtherPool);
}

#[test]
fn a_refusal_counts_what_is_free_and_what_is_free_together() {
    let nodes = vec![with_taken(1, &[1, 5]), with_taken(2, &[1, 2, 3, 4, 5, 7])];
    let refusal = refusal(place(&Fleet { nodes }, &slice(4)));
    assert_eq!((refusal.free_gpus, refusal.largest_set), (8, 2));
    let reasons: Vec<_> = refusal.nodes_by_reason.into_iter().collect();
    assert_eq!(reasons, [(Reason::TooFewFree, 1), (Reason::FreeButScattered, 1)]);
    assert_eq!((refusal.slots.free, refusal.slots.claimed), (8, 8));
    assert_eq!(refusal.release, Some(engine::place::Release { gpus: 1, nodes: 1 }));
    let halves = [[1, 2, 3, 4], [5, 6, 7, 8]].map(|half| half.map(ModuleId).to_vec());
    assert_eq!(refusal.sets_wanted, halves);
}

#[test]
fn an_available_row_with_a_device_missing_is_not_sold() {
    let mut one = node(1);
    for slot in &mut one.slots {
        slot.missing = vec![DeviceField::NvmeIdentity];
    }
    assert_eq!(only_reason(one, &slice(1)), Reason::Incomplete);
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
    assert_eq!(only_reason(one, &slice(1)), Reason::Incomplete);
}

#[test]
fn somebody_who_shares_with_nobody_is_left_alone_and_leaves_others_alone() {
    let theirs = with_occupant(1, &[1], 2, CoTenancy::SameTenant);
    assert_eq!(only_reason(theirs.clone(), &slice(1)), Reason::CoTenancy);
    let of_theirs = Request { tenant_id: tenant(2), ..slice(1) };
    assert_eq!(placed(vec![theirs], &of_theirs), (node_id(1), vec![3]));
    let open = with_occupant(1, &[1], 2, CoTenancy::Any);
    let alone = Request { co_tenancy: CoTenancy::SameTenant, ..slice(1) };
    assert_eq!(placed(vec![open.clone()], &slice(1)).0, node_id(1));
    assert_eq!(only_reason(open.clone(), &alone), Reason::CoTenancy);
    assert_eq!(placed(vec![open, node(2)], &alone).0, node_id(2));
    let own = with_occupant(3, &[1], 1, CoTenancy::Any);
    assert_eq!(placed(vec![node(2), own], &alone).0, node_id(3));
}

#[test]
fn a_group_is_spread_or_kept_together_as_it_asked() {
    let mut first = with_occupant(1, &[1], 1, CoTenancy::Any);
    first.occupants[0].group = Some("web".to_owned());
    let clean = node(2);
    let asked = |spread| Request { group: Some("web".to_owned()), spread, ..slice(1) };
    let goes = |spread, nodes: &[&NodeView]| placed(nodes.iter().copied().cloned().collect(), &asked(spread)).0;
    assert_eq!(goes(Spread::None, &[&first, &clean]), node_id(1));
    assert_eq!(goes(Spread::Require, &[&first, &clean]), node_id(2));
    assert_eq!(goes(Spread::Prefer, &[&first, &clean]), node_id(2));
    assert_eq!(goes(Spread::Prefer, &[&first]), node_id(1));
    assert_eq!(only_reason(first.clone(), &asked(Spread::Require)), Reason::SameGroup);
    let mut busier = with_taken(3, &[1, 2, 4, 5, 6, 7, 8]);
    busier.occupants.push(occupant(30, 2));
    assert_eq!(goes(Spread::None, &[&first, &busier]), node_id(3));
    assert_eq!(goes(Spread::Near, &[&first, &busier]), node_id(1));
    assert_eq!(goes(Spread::SameNode, &[&first, &busier]), node_id(1));
    assert_eq!(goes(Spread::SameNode, &[&busier]), node_id(3), "the first of a group goes anywhere");
    let mut full = with_occupant(4, &[1, 2, 3, 4, 5, 6, 7, 8], 1, CoTenancy::Any);
    full.occupants[0].group = Some("web".to_owned());
    assert_eq!(goes(Spread::Near, &[&full, &clean]), node_id(2));
    let reasons = refusal(place(&Fleet { nodes: vec![full, clean] }, &asked(Spread::SameNode))).nodes_by_reason;
    assert_eq!(reasons.into_iter().collect::<Vec<_>>(), [(Reason::TooFewFree, 1), (Reason::NotWithGroup, 1)]);
}

#[test]
fn another_project_with_the_same_group_name_is_not_the_same_group() {
    let mut theirs = with_occupant(1, &[1], 2, CoTenancy::Any);
    theirs.occupants[0].group = Some("web".to_owned());
    let asked = Request { group: Some("web".to_owned()), spread: Spread::Require, ..slice(1) };
    assert_eq!(placed(vec![theirs, node(2)], &asked).0, node_id(1));
}

#[test]
fn of_equals_the_least_used_is_taken() {
    let mut worn = node(1);
    worn.slots[0].wear = 3;
    assert_eq!(placed(vec![worn.clone(), node(2)], &slice(8)).0, node_id(2));
    assert_eq!(placed(vec![worn], &slice(1)), (node_id(1), vec![2]));
}

#[test]
fn a_set_on_one_memory_node_and_one_switch_is_preferred() {
    let mut one = node(1);
    for (slot, switch) in one.slots.iter_mut().zip([0, 0, 1, 1, 2, 3, 2, 3]) {
        slot.pcie_switch = Some(switch);
    }
    assert_eq!(placed(vec![one.clone()], &slice(2)), (node_id(1), vec![5, 7]));
    one.slots[4].numa = Some(0);
    assert_eq!(placed(vec![one], &slice(2)), (node_id(1), vec![6, 8]));
}

#[test]
fn slots_that_share_a_rail_come_after_those_that_do_not() {
    let mut one = node(1);
    for (slot, rail) in one.slots.iter_mut().zip([0, 1, 0, 2, 3, 4, 5, 6]) {
        slot.rail = Some(rail);
    }
    assert_eq!(placed(vec![one], &slice(2)), (node_id(1), vec![2, 4]));
}

#[test]
fn a_node_that_one_tenant_will_give_back_whole_is_left_to_empty() {
    let mut shared = with_taken(2, &[1, 2, 3, 4]);
    shared.occupants =
        (1..=4).map(|n| engine::Occupant { slot_ids: vec![support::slot_id(2, n)], ..occupant(n, n) }).collect();
    let nodes = vec![with_occupant(1, &[1, 2, 3, 4], 2, CoTenancy::Any), shared];
    assert_eq!(placed(nodes, &slice(4)), (node_id(2), vec![5, 6, 7, 8]));
}

#[test]
fn the_policy_can_keep_nodes_whole() {
    let fleet = Fleet { nodes: vec![node(1), node(2)] };
    let policy = |keep_whole_nodes| engine::Policy { keep_whole_nodes, ..engine::Policy::default() };
    let asked = |keep: u32, request: &Request| engine::Inventory::new(&fleet, policy(keep)).place(request);
    assert!(matches!(asked(1, &slice(1)), Verdict::Placed(_)));
    let reasons = refusal(asked(2, &slice(1))).nodes_by_reason;
    assert_eq!(reasons.into_iter().collect::<Vec<_>>(), [(Reason::KeptWhole, 2)]);
    assert!(matches!(asked(2, &bare_metal()), Verdict::Placed(_)));
}

#[test]
fn runners_up_have_other_scores_and_the_best_comes_first() {
    let nodes = vec![node(1), with_taken(2, &[1]), with_taken(3, &[1, 2]), with_taken(4, &[1, 2, 4, 5]), node(5)];
    let found = placement(place(&Fleet { nodes }, &slice(1)));
    let costs: Vec<i64> =
        std::iter::once(&found.chosen).chain(&found.runners_up).map(|candidate| candidate.score.cost).collect();
    assert_eq!(costs.len(), 4);
    assert!(costs.is_sorted_by(|a, b| a < b), "{costs:?}");
    assert_eq!(found.runners_up[2].node_id, node_id(1));
    assert_eq!((found.kind, found.considered.nodes_fitting), (SetKind::Single, 5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_number_and_the_best_place_are_what_the_slow_way_finds(
        fleet in any_fleet(6), request in any_request(), policy in any_policy(),
    ) {
        let right = oracle::answer(&fleet, &request, &policy);
        match engine::Inventory::new(&fleet, policy).place(&request) {
            Verdict::Placed(found) => {
                let best = &right.places[0];
                let place = (found.chosen.score.cost, found.chosen.wear, found.chosen.node_id.clone());
                prop_assert_eq!(place, (best.0, best.1, best.2.clone()));
                prop_assert_eq!(&found.chosen.modules, &best.5);
                prop_assert_eq!(found.slot_ids.iter().cloned().collect::<std::collections::BTreeSet<_>>(), best.6.clone());
                prop_assert!(found.slot_ids.is_sorted());
                prop_assert_eq!(found.considered.sets, right.sets);
                prop_assert_eq!(found.considered.nodes_fitting, right.nodes_fitting);
                prop_assert_eq!(found.nodes_by_reason, right.by_reason);
                let mut costs: Vec<i64> = right.places.iter().map(|place| place.0).collect();
                costs.dedup();
                let told: Vec<i64> = found.runners_up.iter().map(|candidate| candidate.score.cost).collect();
                // On a node only its best set counts.
                prop_assert!(told.iter().all(|cost| costs[1..].contains(cost)));
                prop_assert!(told.is_sorted_by(|a, b| a < b));
            }
            Verdict::Refused(refusal) => {
                prop_assert!(right.places.is_empty(), "{:?}", right.places);
                prop_assert_eq!(usize::try_from(refusal.nodes_by_reason.values().sum::<u32>()).unwrap(), fleet.nodes.len());
                prop_assert_eq!(refusal.nodes_by_reason, right.by_reason);
                prop_assert_eq!(refusal.slots, right.slots);
                prop_assert_eq!(refusal.free_gpus, right.free_gpus);
                prop_assert_eq!(refusal.largest_set, right.largest_set);
                prop_assert_eq!(refusal.one_step, right.one_step);
                prop_assert_eq!(refusal.release.map(|release| (release.gpus, release.nodes)), right.release);
            }
        }
    }

    #[test]
    fn what_is_available_is_what_would_be_placed(fleet in any_fleet(5)) {
        let here = availability(&fleet).get(&(region(1), GpuModel::H200Sxm)).copied().unwrap_or_default();
        // Asked by whoever is tolerated everywhere: availability is the same for all.
        let mut fleet = fleet;
        fleet.nodes.iter_mut().for_each(|node| node.occupants.clear());
        let fits = |request: &Request| matches!(place(&fleet, request), Verdict::Placed(_));
        let largest = (1..=9).rev().find(|size| fits(&slice(*size))).unwrap_or(0);
        prop_assert_eq!(here.largest_slice, largest);
        prop_assert_eq!(here.slice_gpus == 0, largest == 0);
        let whole = (1..=9).any(|gpu_count| fits(&Request { gpu_count, ..bare_metal() }));
        prop_assert_eq!(here.whole_nodes > 0, whole);
    }

    #[test]
    fn the_order_of_rows_never_matters(
        fleet in any_fleet(6), request in any_request(), policy in any_policy(), turns in 0usize..8,
    ) {
        let mut shuffled = fleet.clone();
        shuffled.nodes.reverse();
        let by = turns % shuffled.nodes.len().max(1);
        shuffled.nodes.rotate_left(by);
        for node in &mut shuffled.nodes {
            node.slots.reverse();
            node.occupants.reverse();
            let by = turns % node.slots.len().max(1);
            node.slots.rotate_left(by);
        }
        let (one, other) = (engine::Inventory::new(&fleet, policy.clone()), engine::Inventory::new(&shuffled, policy));
        prop_assert_eq!(one.place(&request), other.place(&request));
        prop_assert_eq!(one.find(&request), other.find(&request));
        prop_assert_eq!(one.availability(), other.availability());
    }

    #[test]
    fn a_clean_node_is_not_opened_while_a_sliced_one_would_do(fleet in any_fleet(5), size in 1u32..=8) {
        let request = slice(size);
        if let Verdict::Placed(found) = place(&fleet, &request) {
            let mode = |id: &NodeId| fleet.nodes.iter().find(|n| n.id == *id).unwrap().occupancy;
            let right = oracle::answer(&fleet, &request, &engine::Policy::default());
            let sliced_would_do = right.places.iter().any(|place| mode(&place.2) == OccupancyMode::Sliced);
            prop_assert_eq!(mode(&found.chosen.node_id) == OccupancyMode::Sliced, sliced_would_do);
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
