//! Placement: one request and the fleet in, a slot set or the reasons for none out.
//!
//! A slice is one of the sets that the node's board can be cut into, never any odd handful of GPUs, and always on one
//! node. Slices go where slices already are, and there into the set that spoils the fewest larger sets, so that clean
//! nodes stay free for bare metal and large sets stay whole. Bare metal takes a node nobody is on, with every slot of
//! its board clean. A slot that is not available, has drifted, or lacks a device, is never chosen, whoever wrote its row;
//! nor is anything on a node that operators drain or took out of use, nor a slice on one that was not promoted.
//!
//! Nothing is reserved here: the verdict is a proposal, and the transaction that writes the claims checks it again.

use crate::fleet::{Fleet, NodeView, SlotView};
use model::{
    NodeId, RegionId, SlotId,
    sku::CapacityShape,
    supply::{GpuModel, NodeDesired, NodeState, OccupancyMode},
    text_enum,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use topology::ModuleId;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Whole node or slice.
    pub shape: CapacityShape,
    /// Which GPUs.
    pub gpu_model: GpuModel,
    /// How many.
    pub gpu_count: u32,
    /// Where.
    pub region_id: RegionId,
}

text_enum! {
    /// Why a node was passed over. Each node has exactly one: the first that holds, in this order.
    Reason {
        /// It is in another region.
        OtherRegion = "other_region",
        /// It has other GPUs.
        OtherGpuModel = "other_gpu_model",
        /// Its pool does not sell slices.
        SlicesDisabled = "slices_disabled",
        /// An operator took it out of use.
        OutOfUse = "out_of_use",
        /// An operator drains it.
        Draining = "draining",
        /// It was not promoted to slice use.
        NotPromoted = "not_promoted",
        /// Its agent has not been heard of lately.
        NotOnline = "not_online",
        /// A bare-metal tenant has it.
        HeldAsBareMetal = "held_as_bare_metal",
        /// Slices are on it, so it cannot be had whole.
        HeldBySlices = "held_by_slices",
        /// Its board cannot be cut, or sold whole, at this size.
        NoSuchSet = "no_such_set",
        /// It would have enough free slots if its host showed what was approved.
        Drifted = "drifted",
        /// Too few of its slots are free, clean and complete.
        TooFewFree = "too_few_free",
        /// Enough slots are free, but they do not make up a set that can be isolated.
        FreeButScattered = "free_but_scattered",
    }
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Considered {
    /// Nodes in the fleet.
    pub nodes: u32,
    /// Nodes on which it would have fitted.
    pub nodes_fitting: u32,
    /// Slot sets that were compared.
    pub sets: u32,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case", deny_unknown_fields)]
pub enum Verdict {
    /// It fits here.
    Placed {
        /// The node.
        node_id: NodeId,
        /// Its slots, by id.
        slot_ids: Vec<SlotId>,
        /// How much was looked at.
        considered: Considered,
    },
    /// It fits nowhere now.
    Refused {
        /// Free GPUs of this model in this region, on nodes that could take new work of this shape.
        free_gpus_in_region: u32,
        /// The most of them that one node could give together.
        largest_set_on_one_node: u32,
        /// Every node of the fleet, by why it was passed over.
        nodes_by_reason: BTreeMap<Reason, u32>,
    },
}

/// Chooses slots for one request.
pub fn place(fleet: &Fleet, request: &Request) -> Verdict {
    let mut best: Option<(Rank<'_>, &NodeView, Vec<SlotId>)> = None;
    let mut considered = Considered { nodes: count(fleet.nodes.len()), nodes_fitting: 0, sets: 0 };
    let mut refusal = Refusal::default();
    for node in &fleet.nodes {
        let sellable = node.sellable();
        refusal.measure(node, &sellable, request);
        if let Some(reason) = passed_over(node, &sellable, request) {
            *refusal.nodes_by_reason.entry(reason).or_default() += 1;
            continue;
        }
        considered.nodes_fitting += 1;
        for set in fitting_sets(node, &sellable, request) {
            considered.sets += 1;
            let rank = Rank::of(node, &sellable, set, request.shape);
            if best.as_ref().is_none_or(|(leading, ..)| rank < *leading) {
                let mut slots: Vec<SlotId> =
                    set.iter().filter_map(|m| sellable.get(m)).map(|slot| slot.id.clone()).collect();
                slots.sort();
                best = Some((rank, node, slots));
            }
        }
    }
    match best {
        Some((_, node, slot_ids)) => Verdict::Placed { node_id: node.id.clone(), slot_ids, considered },
        None => Verdict::Refused {
            free_gpus_in_region: refusal.free_gpus,
            largest_set_on_one_node: refusal.largest_set,
            nodes_by_reason: refusal.nodes_by_reason,
        },
    }
}

type Sellable<'a> = BTreeMap<ModuleId, &'a SlotView>;

// Smaller is better. Field order is the policy.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'a> {
    // Slices: a node without slices is opened last. Bare metal: a node that could have been sliced is taken last.
    spoils_a_kind_of_node: bool,
    // The sizes of the whole sets this choice would spoil, largest first: spoiling a pair beats spoiling a half, and
    // spoiling one half beats spoiling two.
    sets_spoiled: Vec<usize>,
    // Fuller nodes first.
    free_on_node: usize,
    numa_nodes_spanned: usize,
    node_id: &'a NodeId,
    set: Vec<ModuleId>,
}

impl<'a> Rank<'a> {
    fn of(node: &'a NodeView, sellable: &Sellable<'_>, set: &BTreeSet<ModuleId>, shape: CapacityShape) -> Self {
        let mut sets_spoiled: Vec<usize> = node
            .free_sets(sellable)
            .filter(|other| other.len() >= set.len() && *other != set && !other.is_disjoint(set))
            .map(BTreeSet::len)
            .collect();
        sets_spoiled.sort_unstable_by(|a, b| b.cmp(a));
        let numa: BTreeSet<_> = set.iter().filter_map(|module| sellable.get(module)).map(|slot| slot.numa).collect();
        Self {
            spoils_a_kind_of_node: match shape {
                CapacityShape::GpuSlice => node.occupancy != OccupancyMode::Sliced,
                CapacityShape::Baremetal => node.slices_enabled,
            },
            sets_spoiled,
            free_on_node: sellable.len(),
            numa_nodes_spanned: numa.len(),
            node_id: &node.id,
            set: set.iter().copied().collect(),
        }
    }
}

// The sets on this node that would do. Bare metal takes the board as one set, whether or not the table lists it.
fn fitting_sets<'a>(node: &'a NodeView, sellable: &'a Sellable<'a>, request: &Request) -> Vec<&'a BTreeSet<ModuleId>> {
    match request.shape {
        CapacityShape::Baremetal => node.board().into_iter().collect(),
        CapacityShape::GpuSlice => {
            node.free_sets(sellable).filter(|set| count(set.len()) == request.gpu_count).collect()
        }
    }
}

fn passed_over(node: &NodeView, sellable: &Sellable<'_>, request: &Request) -> Option<Reason> {
    let size = request.gpu_count;
    let whole = request.shape == CapacityShape::Baremetal;
    if node.region_id != request.region_id {
        Some(Reason::OtherRegion)
    } else if node.gpu_model != request.gpu_model {
        Some(Reason::OtherGpuModel)
    } else if !whole && !node.slices_enabled {
        Some(Reason::SlicesDisabled)
    } else if node.desired == NodeDesired::Disabled {
        Some(Reason::OutOfUse)
    } else if node.desired == NodeDesired::Drained {
        Some(Reason::Draining)
    } else if !whole && !node.promoted {
        Some(Reason::NotPromoted)
    } else if node.state != NodeState::Online {
        Some(Reason::NotOnline)
    } else if node.occupancy == OccupancyMode::Exclusive {
        Some(Reason::HeldAsBareMetal)
    } else if whole && node.occupancy == OccupancyMode::Sliced {
        Some(Reason::HeldBySlices)
    } else if !has_set_of(node, request) {
        Some(Reason::NoSuchSet)
    } else if count(sellable.len()) < size || (whole && sellable.len() != node.slots.len()) {
        let without_drift = count(sellable.len() + node.drifted());
        let enough = without_drift >= size && (!whole || without_drift == count(node.slots.len()));
        Some(if enough { Reason::Drifted } else { Reason::TooFewFree })
    } else if !whole && fitting_sets(node, sellable, request).is_empty() {
        Some(Reason::FreeButScattered)
    } else {
        None
    }
}

fn has_set_of(node: &NodeView, request: &Request) -> bool {
    match request.shape {
        CapacityShape::Baremetal => node.board().is_some_and(|board| count(board.len()) == request.gpu_count),
        CapacityShape::GpuSlice => node.sets().iter().any(|set| count(set.len()) == request.gpu_count),
    }
}

#[derive(Default)]
struct Refusal {
    free_gpus: u32,
    largest_set: u32,
    nodes_by_reason: BTreeMap<Reason, u32>,
}

impl Refusal {
    // Counts what this node has to offer to requests of this shape, whatever their size.
    fn measure(&mut self, node: &NodeView, sellable: &Sellable<'_>, request: &Request) {
        let wanted = node.region_id == request.region_id && node.gpu_model == request.gpu_model;
        if !wanted || !node.takes_new_work(request.shape) {
            return;
        }
        self.free_gpus = self.free_gpus.saturating_add(count(sellable.len()));
        let together = match request.shape {
            CapacityShape::Baremetal if node.is_wholly_free(sellable) => sellable.len(),
            CapacityShape::Baremetal => 0,
            CapacityShape::GpuSlice => node.free_sets(sellable).map(BTreeSet::len).max().unwrap_or(0),
        };
        self.largest_set = self.largest_set.max(count(together));
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
