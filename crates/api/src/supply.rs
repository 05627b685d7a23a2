//! How hosts become capacity: enrolled with a one-time token, discovered, compared, approved slot by slot, promoted, drained.
//!
//! What discovery finds is advice. Only an operator's approval makes a slot, and only a complete one that every rule lets
//! through can be sold. Nothing here is shown to tenants but the counts of [`AvailabilityView`].

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    fleet::{NodePath, NodeView, SlotCellView, SlotQuery, SlotView},
    operation::OperationView,
    page::{Page, PageQuery},
    problem::FieldError,
};
use model::{
    EnrollmentTokenId, IncidentId, NodeId, PoolId, RegionId, SkuId, SlotId, TaskId, Timestamp,
    number::EnrollmentLifetimeS,
    runtime::{PlanReport, ReconcileReport},
    supply::{FabricClaimMode, GpuModel, IncidentKind, NodeProfile},
    text::{DeviceName, DisplayName, ImageName, Note, Slug},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use topology::{Candidate, Discovery, Readiness, Refusal};

/// Names an enrollment token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrollmentTokenPath {
    /// The token.
    pub enrollment_token_id: EnrollmentTokenId,
}

/// Names a slot.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotPath {
    /// The slot.
    pub slot_id: SlotId,
}

/// Names a disk grant.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskGrantPath {
    /// The node.
    pub node_id: NodeId,
    /// The disk, by its own identity.
    pub nvme_identity: DeviceName,
}

/// A host to be brought in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrollmentTokenCreateBody {
    /// The pool it will be in.
    pub pool_id: PoolId,
    /// What it will be called. The name of a node that is there already means: enroll that host again, with a new key.
    pub node_name: Slug,
    /// The serial number its mainboard must have; any when absent.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub hardware_serial: Option<DisplayName>,
    /// How long the token can be used.
    pub lifetime_s: EnrollmentLifetimeS,
}

/// A one-time token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentTokenView {
    /// Its id.
    pub id: EnrollmentTokenId,
    /// The pool the host will be in.
    pub pool_id: PoolId,
    /// What the host will be called.
    pub node_name: Slug,
    /// The serial number its mainboard must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_serial: Option<String>,
    /// Until when it can be used.
    pub expires_at: Timestamp,
    /// When it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// The node it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// One sentence.
    pub projected: String,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// A new token with its secret, which is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentTokenCreatedView {
    /// The token.
    pub token: EnrollmentTokenView,
    /// What the agent is started with.
    pub secret: String,
    /// SHA-256 of the authority that signs both sides' certificates, in hexadecimal: the agent trusts no other.
    pub authority_sha256: String,
}

/// What somebody wants of a node, with the reason.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonBody {
    /// Why; shown to other operators.
    pub reason: Note,
}

/// What may change about a node. At least one field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct NodeUpdateBody {
    /// What it is meant for.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2), extend("uniqueItems" = true))]
    pub profiles: Option<Vec<NodeProfile>>,
    /// Which machine of which provider it is, as `provider/id`; empty when it is none.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^([A-Za-z0-9_-]{1,32}/[A-Za-z0-9_-]{1,64})?$"))]
    pub machine: Option<String>,
}
impl NodeUpdateBody {
    fn check(&self) -> Result<(), FieldError> {
        let name = |text: &str, max: usize| {
            let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
            (1..=max).contains(&text.len()) && text.bytes().all(letter)
        };
        let shaped = |text: &str| text.split_once('/').is_some_and(|(provider, id)| name(provider, 32) && name(id, 64));
        if self.machine.as_deref().is_some_and(|machine| !machine.is_empty() && !shaped(machine)) {
            return Err(FieldError { pointer: "/machine".to_owned(), detail: "`provider/id`, or empty".to_owned() });
        }
        let given = self.profiles.as_deref().unwrap_or_default();
        let different: BTreeSet<NodeProfile> = given.iter().copied().collect();
        if different.len() == given.len() {
            return Ok(());
        }
        Err(FieldError { pointer: "/profiles".to_owned(), detail: "each profile at most once".to_owned() })
    }
}

/// What the newest discovery of a node found, beside what is approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiscoveryView {
    /// The node.
    pub node_id: NodeId,
    /// The order that found it.
    pub task_id: TaskId,
    /// Counts the discoveries of this node.
    pub number: i64,
    /// SHA-256 of what was found, in hexadecimal: the same host in the same state gives the same.
    pub digest: String,
    /// When it came in.
    pub at: Timestamp,
    /// What could become slots. Advice: a candidate is never for sale.
    pub candidates: Vec<CandidateView>,
    /// Everything that was found.
    pub discovery: Discovery,
}

/// What could become a slot, and whether it would be let through now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateView {
    /// The devices and suggested addresses.
    pub candidate: Candidate,
    /// The slot that has its GPU already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_id: Option<SlotId>,
    /// What stands in the way of approving it as it is; empty means nothing.
    pub refusals: Vec<Refusal>,
}

/// Whether a node is ready for slices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessView {
    /// The node.
    pub node_id: NodeId,
    /// When this was seen.
    pub at: Timestamp,
    /// The list.
    pub readiness: Readiness,
}

/// An image to fetch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefetchBody {
    /// The image, by its name in the catalogue.
    pub image_id: ImageName,
}

/// Slots that one plan may name.
pub const PLAN_SLOTS_MAX: usize = 16;

/// Slots to plan for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanOrderBody {
    /// The slots of the node that a guest would have, each once.
    #[schemars(length(min = 1, max = PLAN_SLOTS_MAX), extend("uniqueItems" = true))]
    pub slot_ids: Vec<SlotId>,
}
impl PlanOrderBody {
    fn check(&self) -> Result<(), FieldError> {
        let different: BTreeSet<&SlotId> = self.slot_ids.iter().collect();
        if different.len() == self.slot_ids.len() && (1..=PLAN_SLOTS_MAX).contains(&different.len()) {
            return Ok(());
        }
        let detail = format!("1 to {PLAN_SLOTS_MAX} different ids");
        Err(FieldError { pointer: "/slot_ids".to_owned(), detail })
    }
}

/// What a guest would get on some slots of a node, or what stands against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReportView {
    /// The node.
    pub node_id: NodeId,
    /// The order that asked for it.
    pub task_id: TaskId,
    /// When it came in.
    pub at: Timestamp,
    /// What the host said.
    pub report: PlanReport,
}

/// What was not as it should be when a node was compared with its claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReconcileReportView {
    /// The node.
    pub node_id: NodeId,
    /// The order that asked for it.
    pub task_id: TaskId,
    /// When it came in.
    pub at: Timestamp,
    /// What the host said.
    pub report: ReconcileReport,
}

/// A slot to approve: the devices of one bundle, named by a person. What is left out is missing, and the slot stays `disabled`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotApproveBody {
    /// Where its GPU is. Only a laboratory's slots have none.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub gpu_pci_address: Option<DeviceName>,
    /// Its disk, by its own identity.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub nvme_identity: Option<DeviceName>,
    /// The guest's management interface.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub mgmt_mac: Option<DeviceName>,
    /// The guest's address.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub private_ip: Option<DeviceName>,
    /// How it takes part in the fabric.
    pub fabric_claim_mode: FabricClaimMode,
    /// Where its fabric function is.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub fabric_vf_pci_address: Option<DeviceName>,
}

/// What came of approving everything that is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovedAllView {
    /// The slots that came to be.
    pub approved: Vec<SlotView>,
    /// The candidates that did not, with what stood in the way.
    pub left: Vec<CandidateView>,
}

/// A disk that the platform may destroy although something was found on it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskGrantCreateBody {
    /// The disk, by its own identity.
    pub nvme_identity: DeviceName,
    /// What shows that its content may go: the wipe or remap proof on record.
    pub reason: Note,
}

/// A grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskGrantView {
    /// The node.
    pub node_id: NodeId,
    /// The disk.
    pub nvme_identity: String,
    /// What shows that its content may go.
    pub reason: String,
    /// Who said so.
    pub granted_by: String,
    /// When.
    pub at: Timestamp,
}

/// Something an agent did that an honest one does not. Repeats are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentView {
    /// Its id.
    pub id: IncidentId,
    /// The node.
    pub node_id: NodeId,
    /// What.
    pub kind: IncidentKind,
    /// The last time in a sentence.
    pub detail: String,
    /// How often.
    pub count: i64,
    /// When first.
    pub first_at: Timestamp,
    /// When last.
    pub last_at: Timestamp,
}

/// What can be had of one GPU model in one region: counts, never a device or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AvailabilityView {
    /// The region.
    pub region_id: RegionId,
    /// Its short name.
    pub region: Slug,
    /// Whether anything can be launched there.
    pub enabled: bool,
    /// The GPU.
    pub gpu_model: GpuModel,
    /// GPUs that can be had as slices now.
    pub slice_gpus: i64,
    /// The largest slice that one node can give now.
    pub largest_slice_gpus: i64,
    /// Whole nodes that can be had now.
    pub whole_nodes: i64,
    /// What comes back by itself because leases end, soonest first.
    #[serde(default)]
    pub forecast: Vec<ForecastView>,
    /// Which sizes of which SKUs would find a place now; for operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skus: Vec<SkuAvailabilityView>,
    /// The same by pool; for operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolAvailabilityView>,
    /// The same in a sentence.
    pub projected: String,
}

/// GPUs that come back when leases end. They are wiped and proved clean before they can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastView {
    /// When.
    pub at: Timestamp,
    /// How many.
    pub gpus: i64,
}

/// What of a SKU would find a place now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkuAvailabilityView {
    /// The SKU.
    pub sku_id: SkuId,
    /// Its short name.
    pub sku: Slug,
    /// The counts that would find a place now.
    pub gpu_counts: Vec<i64>,
}

/// What can be had of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolAvailabilityView {
    /// The pool.
    pub pool_id: PoolId,
    /// Its short name.
    pub pool: Slug,
    /// GPUs that can be had as slices now.
    pub slice_gpus: i64,
    /// The largest slice that one node can give now.
    pub largest_slice_gpus: i64,
    /// Whole nodes that can be had now.
    pub whole_nodes: i64,
}

/// Availability in all regions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AvailabilityList {
    /// By region and model.
    pub items: Vec<AvailabilityView>,
}

endpoints! {
    /// List enrollment tokens, used ones too.
    EnrollmentTokenList = "enrollment_token_list", Get "/api/v1/admin/enrollment-tokens", "enrollment", PlatformRead { query: PageQuery, answer: Ok Page<EnrollmentTokenView>, problems: [InvalidPageToken] }
    /// Create a one-time token that brings one host in.
    EnrollmentTokenCreate = "enrollment_token_create", Post "/api/v1/admin/enrollment-tokens", "enrollment", FleetManage { body: EnrollmentTokenCreateBody, answer: Created EnrollmentTokenCreatedView, problems: [UnknownReference, StateConflict] }
    /// Show an enrollment token, without its secret.
    EnrollmentTokenShow = "enrollment_token_show", Get "/api/v1/admin/enrollment-tokens/{enrollment_token_id}", "enrollment", PlatformRead { path: EnrollmentTokenPath, answer: Ok EnrollmentTokenView }
    /// Take an unused enrollment token back.
    EnrollmentTokenRevoke = "enrollment_token_revoke", Delete "/api/v1/admin/enrollment-tokens/{enrollment_token_id}", "enrollment", FleetManage { path: EnrollmentTokenPath, answer: NoContent Nothing, if_match: Optional, problems: [StateConflict] }
    /// Say what a node is meant for.
    NodeUpdate = "node_update", Patch "/api/v1/admin/nodes/{node_id}", "nodes", FleetManage { path: NodePath, body: NodeUpdateBody, check: NodeUpdateBody::check, answer: Ok NodeView, if_match: Required, problems: [UnknownReference, StateConflict] }
    /// Place nothing new on a node; what runs goes on until it is released.
    NodeDrain = "node_drain", Post "/api/v1/admin/nodes/{node_id}/drain", "nodes", FleetManage { path: NodePath, body: ReasonBody, answer: Ok NodeView, if_match: Optional, problems: [StateConflict] }
    /// Put a drained or disabled node back into service.
    NodeUndrain = "node_undrain", Post "/api/v1/admin/nodes/{node_id}/undrain", "nodes", FleetManage { path: NodePath, answer: Ok NodeView, if_match: Optional, problems: [StateConflict] }
    /// Take a node out of use. Nothing may run on it.
    NodeDisable = "node_disable", Post "/api/v1/admin/nodes/{node_id}/disable", "nodes", FleetManage { path: NodePath, body: ReasonBody, answer: Ok NodeView, if_match: Optional, problems: [StateConflict] }
    /// Look again at everything on a node that waits for an operator: orders are given again, drift and readiness are looked at anew.
    NodeRepair = "node_repair", Post "/api/v1/admin/nodes/{node_id}/repair", "nodes", FleetManage { path: NodePath, answer: Ok NodeView, problems: [StateConflict] }
    /// Promote a node to slice use. Needs the profile, readiness evidence, and approved slots.
    NodePromote = "node_promote", Post "/api/v1/admin/nodes/{node_id}/promote", "nodes", FleetManage { path: NodePath, answer: Ok NodeView, if_match: Optional, problems: [NodeNotReady, StateConflict] }
    /// Take slice use back; what runs goes on.
    NodeDemote = "node_demote", Post "/api/v1/admin/nodes/{node_id}/demote", "nodes", FleetManage { path: NodePath, body: ReasonBody, answer: Ok NodeView, if_match: Optional, problems: [StateConflict] }
    /// Revoke a node's identity: its agent is refused until the host is enrolled again.
    NodeRevokeIdentity = "node_revoke_identity", Post "/api/v1/admin/nodes/{node_id}/revoke-identity", "nodes", FleetManage { path: NodePath, body: ReasonBody, answer: Ok NodeView, problems: [StateConflict] }
    /// List what a node's agent did that an honest one does not.
    IncidentList = "incident_list", Get "/api/v1/admin/nodes/{node_id}/incidents", "nodes", PlatformRead { path: NodePath, query: PageQuery, answer: Ok Page<IncidentView>, problems: [InvalidPageToken] }
    /// Order a node to say what it has.
    NodeDiscover = "node_discover", Post "/api/v1/admin/nodes/{node_id}/slice-topology/discovery", "nodes", FleetManage { path: NodePath, answer: Accepted OperationView, problems: [StateConflict] }
    /// Show what the newest discovery found, beside what is approved.
    DiscoveryShow = "discovery_show", Get "/api/v1/admin/nodes/{node_id}/slice-topology/discovery", "nodes", PlatformRead { path: NodePath, answer: Ok DiscoveryView }
    /// Order a node to say whether it is ready for slices.
    ReadinessOrder = "readiness_order", Post "/api/v1/admin/nodes/{node_id}/readiness", "nodes", FleetManage { path: NodePath, answer: Accepted OperationView, problems: [StateConflict] }
    /// Show whether a node is ready for slices, and what is missing.
    ReadinessShow = "readiness_show", Get "/api/v1/admin/nodes/{node_id}/readiness", "nodes", PlatformRead { path: NodePath, answer: Ok ReadinessView }
    /// Order a node to say what a guest on some of its slots would get. Nothing is made.
    NodePlan = "node_plan", Post "/api/v1/admin/nodes/{node_id}/plan", "nodes", FleetManage { path: NodePath, body: PlanOrderBody, check: PlanOrderBody::check, answer: Accepted OperationView, problems: [UnknownReference, StateConflict] }
    /// Show what the newest plan of a node says.
    PlanShow = "plan_show", Get "/api/v1/admin/nodes/{node_id}/plan", "nodes", PlatformRead { path: NodePath, answer: Ok PlanReportView }
    /// Order a node to compare itself with its claims, and to repair, report or leave alone what is not as it should be.
    NodeReconcile = "node_reconcile", Post "/api/v1/admin/nodes/{node_id}/reconcile", "nodes", FleetManage { path: NodePath, answer: Accepted OperationView, problems: [StateConflict] }
    /// Show what the newest comparison of a node with its claims found.
    ReconcileShow = "reconcile_show", Get "/api/v1/admin/nodes/{node_id}/reconcile", "nodes", PlatformRead { path: NodePath, answer: Ok ReconcileReportView }
    /// Order a node to fetch an image before it is needed.
    NodePrefetch = "node_prefetch", Post "/api/v1/admin/nodes/{node_id}/prefetch", "nodes", FleetManage { path: NodePath, body: PrefetchBody, answer: Accepted OperationView, problems: [UnknownReference, StateConflict] }
    /// Approve one slot on a node.
    SlotApprove = "slot_approve", Post "/api/v1/admin/nodes/{node_id}/resource-slots", "slots", FleetManage { path: NodePath, body: SlotApproveBody, answer: Created SlotView, problems: [SlotRefused, StateConflict] }
    /// Approve every candidate that is complete and that no rule refuses.
    SlotApproveComplete = "slot_approve_complete", Post "/api/v1/admin/nodes/{node_id}/resource-slots/approve-complete", "slots", FleetManage { path: NodePath, answer: Ok ApprovedAllView, problems: [SlotRefused, StateConflict] }
    /// List the slots of the whole fleet, by pool and state.
    SlotSurvey = "slot_survey", Get "/api/v1/admin/resource-slots", "slots", PlatformRead { query: SlotQuery, answer: Ok Page<SlotCellView>, problems: [InvalidPageToken] }
    /// Show a slot with what has drifted.
    SlotShow = "slot_show", Get "/api/v1/admin/resource-slots/{slot_id}", "slots", PlatformRead { path: SlotPath, answer: Ok SlotView }
    /// Change an approved slot that nobody uses: every field is given anew, and every rule applies.
    SlotReapprove = "slot_reapprove", Post "/api/v1/admin/resource-slots/{slot_id}/approve", "slots", FleetManage { path: SlotPath, body: SlotApproveBody, answer: Ok SlotView, if_match: Required, problems: [SlotRefused, StateConflict] }
    /// Take a slot that nobody uses out of sale.
    SlotDisable = "slot_disable", Post "/api/v1/admin/resource-slots/{slot_id}/disable", "slots", FleetManage { path: SlotPath, body: ReasonBody, answer: Ok SlotView, if_match: Optional, problems: [StateConflict] }
    /// Put a disabled slot back on sale, if every rule still lets it through.
    SlotEnable = "slot_enable", Post "/api/v1/admin/resource-slots/{slot_id}/enable", "slots", FleetManage { path: SlotPath, answer: Ok SlotView, if_match: Optional, problems: [SlotRefused, StateConflict] }
    /// Wipe a slot once more whose cleanup waits for an operator.
    SlotRepair = "slot_repair", Post "/api/v1/admin/resource-slots/{slot_id}/repair", "slots", FleetManage { path: SlotPath, answer: Ok SlotView, problems: [StateConflict] }
    /// List disks that may be destroyed although something was found on them.
    DiskGrantList = "disk_grant_list", Get "/api/v1/admin/nodes/{node_id}/disk-grants", "slots", PlatformRead { path: NodePath, query: PageQuery, answer: Ok Page<DiskGrantView>, problems: [InvalidPageToken] }
    /// Say that a disk may be destroyed although something was found on it.
    DiskGrantCreate = "disk_grant_create", Post "/api/v1/admin/nodes/{node_id}/disk-grants", "slots", FleetManage { path: NodePath, body: DiskGrantCreateBody, answer: Created DiskGrantView, problems: [NameTaken] }
    /// Take a grant back.
    DiskGrantDelete = "disk_grant_delete", Delete "/api/v1/admin/nodes/{node_id}/disk-grants/{nvme_identity}", "slots", FleetManage { path: DiskGrantPath, answer: NoContent Nothing }
    /// What can be had now, by region and GPU model.
    AvailabilityShow = "availability_show", Get "/api/v1/availability", "catalog", CatalogRead { answer: Ok AvailabilityList }
}
