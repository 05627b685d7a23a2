//! The question and the answer of placement: one request in, a slot set or the reasons for none out.
//!
//! A slice is one of the sets that the node's board can be cut into, never any odd handful of GPUs, and always on one
//! node. Bare metal takes a node nobody is on, with every slot of its board clean. A slot that is not available, has drifted,
//! or lacks a device, is never chosen, whoever wrote its row; nor is anything on a node that operators drain or took out of
//! use, nor a slice on one that was not promoted. How places that would do are ranked is the [`crate::policy`].
//!
//! Nothing is reserved here: the verdict is a proposal, and the transaction that writes the claims checks it again.

use crate::{fleet::Fleet, inventory::Inventory, policy::Policy, policy::Score};
use model::{
    NodeId, PoolId, ProjectId, RegionId, SlotId, TenantId, Timestamp,
    placement::{CoTenancy, Spread},
    sku::CapacityShape,
    supply::GpuModel,
    text_enum,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// Only in this pool.
    pub pool_id: Option<PoolId>,
    /// For whom.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// The group of the project it belongs to; without one `spread` means nothing.
    pub group: Option<String>,
    /// How it lies to the others of its group.
    pub spread: Spread,
    /// Whom it tolerates beside it.
    pub co_tenancy: CoTenancy,
}

text_enum! {
    /// Why a node was passed over. Each node has exactly one: the first that holds, in this order. The last four hold only
    /// where the capacity is there, so they say how much a request shut itself out of.
    Reason {
        /// It is in another region.
        OtherRegion = "other_region",
        /// It has other GPUs.
        OtherGpuModel = "other_gpu_model",
        /// It is in another pool than the one asked for.
        OtherPool = "other_pool",
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
        /// It would have a set if its host showed what was approved.
        Drifted = "drifted",
        /// It would have a set if every device of its free slots were known.
        Incomplete = "incomplete",
        /// It would have a set if slots that wait for the proof of a wipe had one.
        CleanupBlocked = "cleanup_blocked",
        /// It will have a set when a wipe that runs is proved.
        BeingWiped = "being_wiped",
        /// Too few of its slots are free, clean and complete.
        TooFewFree = "too_few_free",
        /// Enough slots are free, but they do not make up a set that can be isolated.
        FreeButScattered = "free_but_scattered",
        /// The policy keeps it whole.
        KeptWhole = "kept_whole",
        /// Somebody on it shares with nobody else, or the request does not and somebody else is on it.
        CoTenancy = "co_tenancy",
        /// It holds an allocation of the group, which is to be spread.
        SameGroup = "same_group",
        /// It holds no allocation of the group, which is to be together.
        NotWithGroup = "not_with_group",
    }
}

/// How many reasons there are.
pub(crate) const REASONS: usize = Reason::ALL.len();

text_enum! {
    /// What kind of set was chosen.
    SetKind {
        /// One GPU.
        Single = "single",
        /// Two.
        Pair = "pair",
        /// Half of the board.
        HalfBoard = "half_board",
        /// All of it.
        WholeBoard = "whole_board",
        /// Some other set.
        Set = "set",
    }
}

impl SetKind {
    /// The kind of a set of this size on a board of this many GPUs.
    pub fn of(size: u32, board: u32) -> Self {
        match size {
            all if all == board => Self::WholeBoard,
            1 => Self::Single,
            2 => Self::Pair,
            half if half.checked_mul(2) == Some(board) => Self::HalfBoard,
            _ => Self::Set,
        }
    }
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Considered {
    /// Nodes in the fleet.
    pub nodes: u32,
    /// Nodes on which it would have fitted.
    pub nodes_fitting: u32,
    /// Slot sets that were compared.
    pub sets: u32,
}

/// The slots of the nodes that were asked about (region, model, pool), each counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotCounts {
    /// Can be sold, as far as the slot itself goes.
    pub free: u32,
    /// Somebody's.
    pub claimed: u32,
    /// Being wiped.
    pub wiping: u32,
    /// Waiting for the proof of a wipe.
    pub cleanup_blocked: u32,
    /// Not as approved.
    pub drifted: u32,
    /// With a device or its GPU unknown.
    pub incomplete: u32,
    /// Not approved, or taken out.
    pub disabled: u32,
}

/// A place and what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The node.
    pub node_id: NodeId,
    /// The GPUs on its board.
    pub modules: Vec<ModuleId>,
    /// What speaks against it.
    pub score: Score,
    /// How often the slots of the node were used; the least used of equals is taken.
    pub wear: u32,
}

/// Where it fits best.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// The place.
    pub chosen: Candidate,
    /// Its slots, by id.
    pub slot_ids: Vec<SlotId>,
    /// The position of the set in the node's table of sets; none for a whole board that the table does not list.
    pub partition: Option<u32>,
    /// What kind of set it is.
    pub kind: SetKind,
    /// The best node of each of the next best scores, at most three.
    pub runners_up: Vec<Candidate>,
    /// How much was looked at.
    pub considered: Considered,
    /// The nodes on which it would not have fitted, by why.
    pub nodes_by_reason: BTreeMap<Reason, u32>,
}

/// Why it fits nowhere now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// How much was looked at.
    pub considered: Considered,
    /// Every node of the fleet, by why it was passed over.
    pub nodes_by_reason: BTreeMap<Reason, u32>,
    /// The slots of this model in this region and pool.
    pub slots: SlotCounts,
    /// Free GPUs among them on nodes that take new work of this shape.
    pub free_gpus: u32,
    /// The most of them that one node could give together.
    pub largest_set: u32,
    /// The sets of this size on the most common board, if that is more than one GPU and less than the board.
    pub sets_wanted: Vec<Vec<ModuleId>>,
    /// What would have to be given back on one node.
    pub release: Option<Release>,
    /// The nodes on which it would fit if the one reason against them fell, by that reason.
    pub one_step: BTreeMap<Reason, u32>,
    /// Since when the longest waiting slot among them has had no proof of its wipe.
    pub blocked_since: Option<Timestamp>,
}

/// The least that holders of one node would have to give back for the request to fit there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// GPUs to give back.
    pub gpus: u32,
    /// Nodes of which that holds.
    pub nodes: u32,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It fits here.
    Placed(Placement),
    /// It fits nowhere now.
    Refused(Refusal),
}

/// Answers one request on a fleet seen for the first time, by the policy of the house. Whoever asks more than once keeps an
/// [`Inventory`].
pub fn place(fleet: &Fleet, request: &Request) -> Verdict {
    Inventory::new(fleet, Policy::default()).place(request)
}
