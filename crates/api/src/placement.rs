//! Where a launch would go or went, and why: plans before, decisions after, and what operators do about places.
//!
//! Owners see counts, kinds of sets and scores; nodes, boards and slots are for operators.

use crate::{
    allocation::{AllocationLaunchBody, AllocationPath, AllocationView},
    endpoint::not_null,
    endpoints,
    fleet::{ClaimView, NodePath, SlotView, TaskView},
    operation::OperationView,
    page::{Page, PageQuery},
    problem::Code,
    supply::ReasonBody,
    tenancy::ProjectPath,
};
use model::{
    AllocationId, DecisionId, NodeId, PoolId, ProjectId, RegionId, SkuId, TenantId, Timestamp,
    sku::CapacityShape,
    supply::{GpuModel, Posture},
    text::Slug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use engine::{
    admit::{CheckCode, CheckOutcome},
    explain::Step,
    place::{Considered, Reason, SetKind, SlotCounts},
    policy::Score,
};

/// Nodes that were passed over for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassedOver {
    /// Why.
    pub reason: Reason,
    /// How many.
    pub nodes: u32,
}

/// One thing that would let a refused request in. Each would do alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnblockView {
    /// What has to happen.
    pub step: Step,
    /// On how many nodes it would do; one of them is enough.
    pub nodes: u32,
    /// GPUs it takes on one node, for a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
}

/// Why there is no place, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementRefusal {
    /// The stable code.
    pub code: Code,
    /// Free GPUs on nodes that take this form.
    pub free_gpus: u32,
    /// The most that one node could give together.
    pub largest_set_gpus: u32,
    /// Every node that was passed over, by why.
    pub nodes: Vec<PassedOver>,
    /// The slots that were asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotCounts>,
    /// Since when the longest waiting slot has had no proof of its wipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_since: Option<Timestamp>,
    /// What would let it in; those that need nobody's decision first.
    pub unblocks: Vec<UnblockView>,
}

/// One check of admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckView {
    /// Which.
    pub code: CheckCode,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// With the values that decided it; left out of what is stored when there is no room.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What something costs, in millionths of the platform's currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceView {
    /// For one GPU and hour.
    pub micros_per_gpu_hour: i64,
    /// For all of it, an hour.
    pub micros_per_hour: i64,
    /// For all of it, a month of 730 hours.
    pub micros_per_730_hours: i64,
}

/// The same wish in another region, or as another SKU of the same GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ElsewhereView {
    /// Where.
    pub region_id: RegionId,
    /// Its short name.
    pub region: Slug,
    /// As what.
    pub sku_id: SkuId,
    /// Its short name.
    pub sku: Slug,
    /// How many GPUs it would be: as many as asked for, or the next more that this SKU is sold in.
    pub gpu_count: i64,
    /// Whether it would fit there now.
    pub fits: bool,
    /// What it would cost.
    pub price: PriceView,
    /// The same in a sentence.
    pub projected: String,
}

/// What would happen if this were launched now. Nothing is reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    /// Whether it would be let in.
    pub admitted: bool,
    /// Whether it would find a place now.
    pub fits: bool,
    /// Every check of admission.
    pub checks: Vec<CheckView>,
    /// What it would be made of.
    pub gpu_model: GpuModel,
    /// In which form.
    pub shape: CapacityShape,
    /// Virtual CPUs that come with it.
    pub vcpus: i64,
    /// Memory that comes with it.
    pub memory_mib: i64,
    /// What kind of set would be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SetKind>,
    /// What it would cost.
    pub price: PriceView,
    /// Why it has no place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<PlacementRefusal>,
    /// Whether it would fit in other regions, or as another SKU of the same GPUs.
    pub elsewhere: Vec<ElsewhereView>,
    /// The same in a sentence.
    pub projected: String,
}

model::text_enum! {
    /// What a stored decision answered.
    DecisionOutcome {
        /// The wish was let in.
        Admitted = "admitted",
        /// A place was found.
        Placed = "placed",
        /// There was none, or it was not let in after all.
        Refused = "refused",
    }
}

/// A decision about an allocation, as its owner may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionView {
    /// Its id.
    pub id: DecisionId,
    /// What it answered.
    pub outcome: DecisionOutcome,
    /// The same in a sentence.
    pub because: String,
    /// The checks of admission.
    pub checks: Vec<CheckView>,
    /// How much was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub considered: Option<Considered>,
    /// Nodes that were passed over, by why.
    pub nodes: Vec<PassedOver>,
    /// What kind of set was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SetKind>,
    /// What spoke against the chosen place, and against the next best.
    pub scores: Vec<Score>,
    /// Why there was no place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<PlacementRefusal>,
    /// Which picture of the fleet it was made on: how far the events had come.
    pub snapshot_version: i64,
    /// When.
    pub at: Timestamp,
}

/// A place that was compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceView {
    /// The node.
    pub node_id: NodeId,
    /// The GPUs on its board; left out where the number of the set says the same.
    pub gpu_modules: Vec<u32>,
    /// What speaks against it.
    pub score: Score,
    /// How often its slots were used.
    pub wear: u32,
}

/// A decision about an allocation, with hardware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedDecisionView {
    /// What the owner sees.
    pub decision: DecisionView,
    /// The policy that ranked the places, by its short name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// The number of the chosen set in the node's table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// The chosen place and the next best, the best first.
    pub places: Vec<PlaceView>,
    /// How many entries were left out to keep the record short.
    pub left_out: u32,
}

/// An allocation as operators see it: where it is and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationPlaceView {
    /// What its owner sees.
    pub allocation: AllocationView,
    /// Its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The node's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its claims, ended ones too.
    pub claims: Vec<ClaimView>,
    /// The slots that it holds now.
    pub slots: Vec<SlotView>,
    /// The orders that were given for it.
    pub tasks: Vec<TaskView>,
    /// The newest decision about its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<PlacedDecisionView>,
}

/// An allocation that leaves a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeavingView {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// How many GPUs.
    pub gpu_count: i64,
    /// Whether it is launched again elsewhere once it is stopped.
    pub recreated: bool,
}

model::text_enum! {
    /// Why an allocation stays on a node that is evacuated.
    StayReason {
        /// Its owner did not say that it may be launched again elsewhere.
        NoConsent = "no_consent",
        /// There is no place for it elsewhere now.
        NoOtherPlace = "no_other_place",
    }
}

/// An allocation that stays on a node until its owner gives it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StayingView {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// How many GPUs.
    pub gpu_count: i64,
    /// Why it stays.
    pub reason: StayReason,
    /// The same in a sentence.
    pub projected: String,
}

/// What comes of evacuating a node. It is drained: nothing new is placed on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvacuationView {
    /// The node.
    pub node_id: NodeId,
    /// What leaves.
    pub leaving: Vec<LeavingView>,
    /// What stays, and why.
    pub staying: Vec<StayingView>,
    /// The same in a sentence.
    pub projected: String,
}

/// How to backfill, and where to go on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimBackfillBody {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Only allocations after this one; from the first when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub after: Option<AllocationId>,
}

/// An allocation that got the claims it should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackfilledView {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its node.
    pub node_id: NodeId,
    /// How many claims were written.
    pub claims: i64,
}

/// An allocation without claims that could not get any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotBackfilledView {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// What speaks against it.
    pub because: String,
}

/// What a backfill did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimBackfillView {
    /// Allocations that got claims.
    pub claimed: Vec<BackfilledView>,
    /// Allocations that could not get any.
    pub left: Vec<NotBackfilledView>,
    /// Pass this as `after` to go on; absent when all were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<AllocationId>,
}

/// Nodes of one posture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostureCount {
    /// The posture.
    pub posture: Posture,
    /// How many nodes.
    pub nodes: i64,
}

/// How full a pool is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccupancyView {
    /// The region.
    pub region_id: RegionId,
    /// Its short name.
    pub region: Slug,
    /// The pool.
    pub pool_id: PoolId,
    /// Its short name.
    pub pool: Slug,
    /// Its GPUs.
    pub gpu_model: GpuModel,
    /// Its nodes by posture.
    pub postures: Vec<PostureCount>,
    /// GPUs that are proved clean and approved.
    pub gpus_free: i64,
    /// GPUs that somebody holds.
    pub gpus_held: i64,
    /// GPUs that are being wiped or wait for the proof of it.
    pub gpus_blocked: i64,
    /// GPUs whose slots are out of sale.
    pub gpus_disabled: i64,
    /// The largest slice that one node can give now.
    pub largest_slice_gpus: i64,
    /// Whole nodes that can be had now.
    pub whole_nodes: i64,
    /// The same in a sentence.
    pub projected: String,
}

/// How full every pool is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccupancyList {
    /// By region and pool.
    pub items: Vec<OccupancyView>,
}

endpoints! {
    /// Show what a launch would do, what it would cost, and whether it would fit elsewhere. Nothing is changed or reserved.
    AllocationPlan = "allocation_plan", Post "/api/v1/projects/{project_id}/allocations/plan", "placement", ProjectRead { path: ProjectPath, body: AllocationLaunchBody, check: AllocationLaunchBody::check, answer: Ok PlanView, reads_only: true, problems: [UnknownReference, NotForSale, LeaseRefused, ImageUnavailable, ImageUnfit, LabOnly] }
    /// List the decisions about an allocation, without hardware.
    DecisionList = "decision_list", Get "/api/v1/allocations/{allocation_id}/decisions", "placement", ProjectRead { path: AllocationPath, query: PageQuery, answer: Ok Page<DecisionView>, problems: [InvalidPageToken] }
    /// Show an allocation with its node, claims, slots, orders and the decision about its place.
    AllocationInspect = "allocation_inspect", Get "/api/v1/admin/allocations/{allocation_id}", "placement", PlatformRead { path: AllocationPath, answer: Ok AllocationPlaceView }
    /// List the decisions about an allocation, with hardware.
    PlacedDecisionList = "placed_decision_list", Get "/api/v1/admin/allocations/{allocation_id}/decisions", "placement", PlatformRead { path: AllocationPath, query: PageQuery, answer: Ok Page<PlacedDecisionView>, problems: [InvalidPageToken] }
    /// Release an allocation without waiting for its host: its claims end, and its slots stay out of sale until they are proved clean.
    AllocationForceRelease = "allocation_force_release", Post "/api/v1/admin/allocations/{allocation_id}/force-release", "placement", FleetManage { path: AllocationPath, body: ReasonBody, answer: Accepted OperationView, if_match: Optional, problems: [StateConflict] }
    /// Drain a node, and launch elsewhere what its owners allow to be moved.
    NodeEvacuate = "node_evacuate", Post "/api/v1/admin/nodes/{node_id}/evacuate", "placement", FleetManage { path: NodePath, body: ReasonBody, answer: Ok EvacuationView, if_match: Optional, problems: [StateConflict] }
    /// Give allocations that hold capacity without a claim the claims they should have.
    ClaimBackfill = "claim_backfill", Post "/api/v1/admin/claims/backfill", "placement", FleetManage { body: ClaimBackfillBody, answer: Ok ClaimBackfillView }
    /// Show how full every pool is.
    OccupancyShow = "occupancy_show", Get "/api/v1/admin/occupancy", "placement", PlatformRead { answer: Ok OccupancyList }
}
