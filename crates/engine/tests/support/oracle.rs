//! Placement found the slow way: every subset of every node's slots is tried, every node is asked every question in turn.
//! It shares no code with the engine except the words and the weights.

use engine::{Fleet, NodeView, Occupant, Policy, Reason, Request, SlotCounts, SlotView};
use model::{
    NodeId, SlotId,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::{NodeDesired, NodeState, OccupancyMode, SlotState},
};
use std::collections::{BTreeMap, BTreeSet};
use topology::ModuleId;

type Modules = BTreeSet<ModuleId>;
/// By merit: cost, wear of the node, node, the rest of the score, wear of the set, the set, its slots.
pub type Place = (i64, u32, NodeId, [i64; 4], u32, Vec<ModuleId>, BTreeSet<SlotId>);

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap()
}

fn difference(n: usize, other: usize) -> i64 {
    i64::from(number(n)) - i64::from(number(other))
}

/// What the right answer is.
#[derive(Debug, Default)]
pub struct Answer {
    /// Every place that would do, the best first.
    pub places: Vec<Place>,
    /// Every node that would not.
    pub by_reason: BTreeMap<Reason, u32>,
    pub slots: SlotCounts,
    pub free_gpus: u32,
    pub largest_set: u32,
    pub one_step: BTreeMap<Reason, u32>,
    pub release: Option<(u32, u32)>,
    pub nodes_fitting: u32,
    pub sets: u32,
}

pub fn answer(fleet: &Fleet, request: &Request, policy: &Policy) -> Answer {
    let mut answer = Answer::default();
    let mut whole_left = 0;
    for node in &fleet.nodes {
        if node.region_id == request.region_id && node.gpu_model == request.gpu_model {
            let whole =
                Request { shape: CapacityShape::Baremetal, gpu_count: number(board(node).len()), ..request.clone() };
            let sellable = node.desired == NodeDesired::InService && node.state == NodeState::Online;
            whole_left +=
                u32::from(sellable && node.occupancy == OccupancyMode::Free && !free_sets(node, &whole).is_empty());
        }
    }
    let kept = |node: &NodeView| {
        let whole =
            Request { shape: CapacityShape::Baremetal, gpu_count: number(board(node).len()), ..request.clone() };
        request.shape == CapacityShape::GpuSlice
            && whole_left <= policy.keep_whole_nodes
            && node.occupancy == OccupancyMode::Free
            && !free_sets(node, &whole).is_empty()
    };
    let known_group = fleet.nodes.iter().any(|node| holds_group(node, request));
    for node in &fleet.nodes {
        let why = passed_over(node, request).or_else(|| last_reason(node, request, kept(node), known_group));
        measure(&mut answer, node, request);
        match why {
            Some(reason) => {
                *answer.by_reason.entry(reason).or_default() += 1;
                one_step(&mut answer, node, request, reason, kept(node));
            }
            None => {
                answer.nodes_fitting += 1;
                let sets = free_sets(node, request);
                answer.sets += number(sets.len());
                answer.places.extend(sets.iter().map(|set| ranked(node, set, request, policy)));
            }
        }
    }
    prefer(&mut answer, fleet, request);
    answer.places.sort();
    answer
}

// A preference is a hard rule for as long as something is left.
fn prefer(answer: &mut Answer, fleet: &Fleet, request: &Request) {
    let wanted = match request.spread {
        Spread::Prefer => false,
        Spread::Near => true,
        _ => return,
    };
    let of = |id: &NodeId| fleet.nodes.iter().find(|node| node.id == *id).unwrap();
    let good = |place: &&Place| holds_group(of(&place.2), request) == wanted;
    let preferred: Vec<_> = answer.places.iter().filter(good).cloned().collect();
    if !preferred.is_empty() {
        answer.places = preferred;
    }
}

fn board(node: &NodeView) -> Modules {
    node.partitions.as_ref().map(|partitions| partitions.board().clone()).unwrap_or_default()
}

fn named_once(node: &NodeView, slot: &SlotView) -> bool {
    node.slots.iter().filter(|other| other.module_id == slot.module_id).count() == 1
}

// It stands for a GPU of the board, and no other row says the same.
fn trusted(node: &NodeView, slot: &SlotView) -> bool {
    slot.module_id.is_some_and(|m| board(node).contains(&m)) && named_once(node, slot)
}

fn complete(node: &NodeView, slot: &SlotView) -> bool {
    slot.missing.is_empty() && trusted(node, slot)
}

fn sellable(node: &NodeView, slot: &SlotView) -> bool {
    slot.state == SlotState::Available && complete(node, slot) && !slot.drifted
}

fn claimed(slot: &SlotView) -> bool {
    matches!(slot.state, SlotState::InUse | SlotState::Reserved)
}

// Every set of slots that would do on a node that is open to the request, found by trying all subsets.
fn free_sets(node: &NodeView, request: &Request) -> Vec<BTreeSet<SlotId>> {
    sets_where(node, request, |slot| sellable(node, slot))
}

fn sets_where(node: &NodeView, request: &Request, good: impl Fn(&SlotView) -> bool) -> Vec<BTreeSet<SlotId>> {
    let Some(partitions) = &node.partitions else { return vec![] };
    let mut found = vec![];
    for mask in 1u32..(1 << node.slots.len()) {
        let chosen: Vec<&SlotView> =
            node.slots.iter().enumerate().filter(|(at, _)| mask & (1 << at) != 0).map(|(_, s)| s).collect();
        let modules: Modules = chosen.iter().filter_map(|s| s.module_id).collect();
        let counted = number(chosen.len()) == request.gpu_count && modules.len() == chosen.len();
        let is_set = match request.shape {
            CapacityShape::GpuSlice => partitions.sets().contains(&modules),
            CapacityShape::Baremetal => modules == *partitions.board() && chosen.len() == node.slots.len(),
        };
        if counted && is_set && chosen.iter().all(|slot| good(slot)) {
            found.push(chosen.iter().map(|slot| slot.id.clone()).collect());
        }
    }
    found
}

// Every question in turn, up to whether there is room.
fn passed_over(node: &NodeView, request: &Request) -> Option<Reason> {
    let whole = request.shape == CapacityShape::Baremetal;
    let exists = match request.shape {
        CapacityShape::Baremetal => request.gpu_count > 0 && number(board(node).len()) == request.gpu_count,
        CapacityShape::GpuSlice => node
            .partitions
            .as_ref()
            .is_some_and(|table| table.sets().iter().any(|set| number(set.len()) == request.gpu_count)),
    };
    let fits_if = |state: SlotState| {
        let good = |slot: &SlotView| sellable(node, slot) || (slot.state == state && trusted(node, slot));
        !sets_where(node, request, good).is_empty()
    };
    let questions = [
        (node.region_id != request.region_id, Reason::OtherRegion),
        (node.gpu_model != request.gpu_model, Reason::OtherGpuModel),
        (request.pool_id.as_ref().is_some_and(|pool| *pool != node.pool_id), Reason::OtherPool),
        (!whole && !node.slices_enabled, Reason::SlicesDisabled),
        (node.desired == NodeDesired::Disabled, Reason::OutOfUse),
        (node.desired == NodeDesired::Drained, Reason::Draining),
        (!whole && !node.promoted, Reason::NotPromoted),
        (node.state != NodeState::Online, Reason::NotOnline),
        (node.occupancy == OccupancyMode::Exclusive, Reason::HeldAsBareMetal),
        (whole && node.occupancy == OccupancyMode::Sliced, Reason::HeldBySlices),
        (!exists, Reason::NoSuchSet),
    ];
    if let Some((_, reason)) = questions.iter().find(|(holds, _)| *holds) {
        return Some(*reason);
    }
    if !free_sets(node, request).is_empty() {
        return None;
    }
    let drift_cured = |slot: &SlotView| sellable(node, &SlotView { drifted: false, ..slot.clone() });
    if !sets_where(node, request, drift_cured).is_empty() {
        return Some(Reason::Drifted);
    }
    if incomplete_would_do(node, request) {
        return Some(Reason::Incomplete);
    }
    if fits_if(SlotState::CleanupBlocked) {
        return Some(Reason::CleanupBlocked);
    }
    if fits_if(SlotState::Wiping) {
        return Some(Reason::BeingWiped);
    }
    let free = number(node.slots.iter().filter(|slot| sellable(node, slot)).count());
    Some(if whole || free < request.gpu_count { Reason::TooFewFree } else { Reason::FreeButScattered })
}

// Rows for the same GPU count once; a row for no GPU of the board stands in the way of the whole node.
fn incomplete_would_do(node: &NodeView, request: &Request) -> bool {
    let good = |slot: &SlotView| sellable(node, slot) || (slot.state == SlotState::Available && !complete(node, slot));
    let modules: Modules = node.slots.iter().filter(|s| good(s)).filter_map(|s| s.module_id).collect();
    let Some(partitions) = &node.partitions else { return false };
    match request.shape {
        CapacityShape::GpuSlice => {
            partitions.sets().iter().any(|set| number(set.len()) == request.gpu_count && set.is_subset(&modules))
        }
        CapacityShape::Baremetal => {
            let board = partitions.board();
            node.slots.len() == board.len() && node.slots.iter().all(good) && board.is_subset(&modules)
        }
    }
}

// The questions that are asked only where there is room.
fn last_reason(node: &NodeView, request: &Request, kept: bool, known_group: bool) -> Option<Reason> {
    let others = node.occupants.iter().any(|o| o.tenant_id != request.tenant_id);
    let closed = node.occupants.iter().any(|o| o.co_tenancy == CoTenancy::SameTenant);
    let stranger = others && (closed || request.co_tenancy == CoTenancy::SameTenant);
    let with_group = holds_group(node, request);
    if kept {
        Some(Reason::KeptWhole)
    } else if stranger {
        Some(Reason::CoTenancy)
    } else if request.spread == Spread::Require && with_group {
        Some(Reason::SameGroup)
    } else if request.spread == Spread::SameNode && known_group && !with_group {
        Some(Reason::NotWithGroup)
    } else {
        None
    }
}

fn holds_group(node: &NodeView, request: &Request) -> bool {
    let same = |o: &Occupant| o.project_id == request.project_id && o.group == request.group;
    request.group.is_some() && node.occupants.iter().any(same)
}

fn measure(answer: &mut Answer, node: &NodeView, request: &Request) {
    let asked = node.region_id == request.region_id
        && node.gpu_model == request.gpu_model
        && request.pool_id.as_ref().is_none_or(|pool| *pool == node.pool_id);
    if !asked {
        return;
    }
    for slot in &node.slots {
        let number = match slot.state {
            SlotState::Reserved | SlotState::InUse => &mut answer.slots.claimed,
            SlotState::Wiping => &mut answer.slots.wiping,
            SlotState::CleanupBlocked => &mut answer.slots.cleanup_blocked,
            SlotState::Disabled => &mut answer.slots.disabled,
            SlotState::Available if sellable(node, slot) => &mut answer.slots.free,
            SlotState::Available if complete(node, slot) => &mut answer.slots.drifted,
            SlotState::Available => &mut answer.slots.incomplete,
        };
        *number += 1;
    }
    let whole = request.shape == CapacityShape::Baremetal;
    let open = node.state == NodeState::Online
        && node.desired == NodeDesired::InService
        && node.occupancy != OccupancyMode::Exclusive
        && (whole || (node.slices_enabled && node.promoted));
    if open {
        answer.free_gpus += number(node.slots.iter().filter(|slot| sellable(node, slot)).count());
        for gpu_count in 1..=8 {
            let sized = Request { gpu_count, ..request.clone() };
            let free = !whole || node.occupancy == OccupancyMode::Free;
            if free && !free_sets(node, &sized).is_empty() {
                answer.largest_set = answer.largest_set.max(gpu_count);
            }
        }
    }
}

// Whether it would fit if one reason fell, by making it fall and asking again.
fn one_step(answer: &mut Answer, node: &NodeView, request: &Request, reason: Reason, kept: bool) {
    let mut cured = node.clone();
    let mut anywhere = request.clone();
    match reason {
        Reason::OtherPool => anywhere.pool_id = None,
        Reason::SlicesDisabled => cured.slices_enabled = true,
        Reason::OutOfUse | Reason::Draining => cured.desired = NodeDesired::InService,
        Reason::NotPromoted => cured.promoted = true,
        Reason::NotOnline => cured.state = NodeState::Online,
        Reason::HeldAsBareMetal | Reason::HeldBySlices | Reason::TooFewFree | Reason::FreeButScattered => {
            return fewest_released(answer, node, request);
        }
        Reason::OtherRegion | Reason::OtherGpuModel | Reason::NoSuchSet => return,
        _ => {
            *answer.one_step.entry(reason).or_default() += 1;
            return;
        }
    }
    let shared = reason == Reason::OtherPool && shares_with_all(node, request);
    if passed_over(&cured, &anywhere).is_none() && (reason != Reason::OtherPool || (shared && !kept)) {
        *answer.one_step.entry(reason).or_default() += 1;
    }
}

fn shares_with_all(node: &NodeView, request: &Request) -> bool {
    node.occupants.is_empty()
        || (request.co_tenancy == CoTenancy::Any && node.occupants.iter().all(|o| o.co_tenancy == CoTenancy::Any))
}

// Tries every subset of the holders: an occupant with its slots, or a claimed slot that is nobody's.
fn fewest_released(answer: &mut Answer, node: &NodeView, request: &Request) {
    let named: BTreeSet<&SlotId> = node.occupants.iter().flat_map(|o| &o.slot_ids).collect();
    let mut holders: Vec<BTreeSet<SlotId>> =
        node.occupants.iter().map(|o| o.slot_ids.iter().cloned().collect()).collect();
    holders.extend(
        node.slots
            .iter()
            .filter(|slot| claimed(slot) && !named.contains(&slot.id))
            .map(|slot| BTreeSet::from([slot.id.clone()])),
    );
    let whole = request.shape == CapacityShape::Baremetal || node.occupancy == OccupancyMode::Exclusive;
    let mut best: Option<u32> = None;
    for mask in 1u32..(1 << holders.len()) {
        if whole && mask + 1 != 1 << holders.len() {
            continue;
        }
        let given: BTreeSet<&SlotId> =
            holders.iter().enumerate().filter(|(at, _)| mask & (1 << at) != 0).flat_map(|(_, held)| held).collect();
        let back = |slot: &SlotView| claimed(slot) && trusted(node, slot) && given.contains(&slot.id);
        let gpus = number(node.slots.iter().filter(|slot| back(slot)).count());
        let fits = !sets_where(node, request, |slot| sellable(node, slot) || back(slot)).is_empty();
        if gpus > 0 && fits {
            best = Some(best.map_or(gpus, |known| known.min(gpus)));
        }
    }
    if let Some(gpus) = best {
        answer.release = Some(match answer.release {
            Some((known, nodes)) if known == gpus => (known, nodes + 1),
            Some((known, nodes)) if known < gpus => (known, nodes),
            _ => (gpus, 1),
        });
    }
}

// What a place is worth, summed up from the published weights.
fn ranked(node: &NodeView, set: &BTreeSet<SlotId>, request: &Request, policy: &Policy) -> Place {
    let weights = &policy.weights;
    let chosen: Vec<&SlotView> = node.slots.iter().filter(|slot| set.contains(&slot.id)).collect();
    let modules: Modules = chosen.iter().filter_map(|slot| slot.module_id).collect();
    let slice = request.shape == CapacityShape::GpuSlice;
    let opening = if slice {
        i64::from(node.occupancy != OccupancyMode::Sliced) * weights.opens_clean_node
    } else if node.slices_enabled {
        (1 + i64::from(node.promoted)) * (weights.takes_sliceable_node / 2)
    } else {
        0
    };
    let partitions = node.partitions.as_ref().unwrap();
    let mut sets: BTreeSet<Modules> = partitions.sets().iter().cloned().collect();
    sets.insert(partitions.board().clone());
    let larger =
        sets.iter().filter(|other| other.len() >= modules.len() && **other != modules && !other.is_disjoint(&modules));
    let spoils = larger
        .map(|other| {
            let holders = holders_on(node, other);
            let left = |n: usize| weights.worth_left[n.min(8)];
            weights.set_worth[other.len().next_power_of_two().trailing_zeros().try_into().unwrap_or(0usize)]
                * (left(holders) - left(holders + 1))
        })
        .sum::<i64>()
        * i64::from(slice);
    let distinct = |of: fn(&SlotView) -> Option<u32>| chosen.iter().map(|s| of(s)).collect::<BTreeSet<_>>();
    let numa = difference(distinct(|s| s.numa).len(), 1);
    let switches = difference(distinct(|s| s.pcie_switch).len(), 1);
    let on_rails = chosen.iter().filter(|s| s.rail.is_some()).count();
    let rails = difference(on_rails, distinct(|s| s.rail).iter().flatten().count());
    let cost = opening + spoils + numa * weights.numa + switches * weights.pcie_switch + rails * weights.rail;
    let wear = |slots: &[&SlotView]| slots.iter().map(|slot| slot.wear).sum::<u32>();
    let all: Vec<&SlotView> = node.slots.iter().collect();
    let parts = [spoils, numa, switches, rails];
    (cost, wear(&all), node.id.clone(), parts, wear(&chosen), modules.into_iter().collect(), set.clone())
}

// Occupants on a set, claimed slots of nobody, and slots that nothing will free; one that is being wiped counts as free.
fn holders_on(node: &NodeView, set: &Modules) -> usize {
    let inside = |slot: &&SlotView| slot.module_id.is_some_and(|module| set.contains(&module));
    let slots: Vec<&SlotView> = node.slots.iter().filter(inside).collect();
    let named: BTreeSet<&SlotId> = node.occupants.iter().flat_map(|o| &o.slot_ids).collect();
    let holds = |o: &&Occupant| slots.iter().any(|slot| trusted(node, slot) && o.slot_ids.contains(&slot.id));
    let occupants = node.occupants.iter().filter(holds).count();
    let nobodys = slots.iter().filter(|s| claimed(s) && trusted(node, s) && !named.contains(&s.id)).count();
    let unsold = |slot: &&&SlotView| match slot.state {
        SlotState::CleanupBlocked | SlotState::Disabled => trusted(node, slot),
        SlotState::Available => !sellable(node, slot),
        _ => false,
    };
    let stuck: Modules = slots.iter().filter(unsold).filter_map(|slot| slot.module_id).collect();
    occupants + nobodys + stuck.len()
}
