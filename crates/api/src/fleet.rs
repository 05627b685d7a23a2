//! Nodes, slots, claims and tasks as operators see them.

use crate::{
    endpoint::not_null,
    endpoints,
    page::{Page, PageQuery, PageToken, paged},
    states::ProgressView,
};
use model::{
    AllocationId, ClaimId, NodeId, PoolId, SlotId, TaskId, Timestamp,
    claim::ClaimKind,
    number::SlotPageSize,
    runtime::Refusal,
    supply::{
        FabricClaimMode, GpuModel, NodeDesired, NodeProfile, NodeState, OccupancyMode, Posture, SaidBy, SlotState,
    },
    task::{TaskFailure, TaskKind, TaskState},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::DriftKind;

/// Names a node.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodePath {
    /// The node.
    pub node_id: NodeId,
}

/// An enrolled GPU host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Its id.
    pub id: NodeId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its host name.
    pub name: String,
    /// Its GPUs.
    pub gpu_model: GpuModel,
    /// What kind of claim it carries.
    pub occupancy: OccupancyMode,
    /// Whether its agent has been heard of lately.
    pub execution: NodeState,
    /// What operators want of it.
    pub desired: NodeDesired,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub desired_reason: String,
    /// How much of it can be had.
    pub posture: Posture,
    /// One sentence: why it has that posture.
    pub projected: String,
    /// What it is meant for.
    pub profiles: Vec<NodeProfile>,
    /// Since when it may be cut into slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_at: Option<Timestamp>,
    /// What is missing before it may be; empty once it is promoted or could be.
    pub promotion_needs: Vec<String>,
    /// The version of its agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent_version: String,
    /// How many times its agent has started.
    pub agent_boot: i64,
    /// Its mainboard's serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_serial: Option<String>,
    /// How many kinds of incidents are on record.
    pub incidents: i64,
    /// Which machine of which provider it is, as `provider/id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Since when the machine itself is a tenant's; it ends when its host is enrolled and looked at again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_over_at: Option<Timestamp>,
    /// What it is being turned into; `progress` says what that waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converting_to: Option<NodeProfile>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converting_since: Option<Timestamp>,
    /// When its agent was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// An approved bundle of devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotView {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// What one slot of it gets.
    pub profile: String,
    /// What its workflow is doing.
    pub execution: SlotState,
    /// One sentence.
    pub projected: String,
    /// Where its GPU is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_pci_address: Option<String>,
    /// Its GPU's place on the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_module_id: Option<i64>,
    /// Its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme_identity: Option<String>,
    /// Its management address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mgmt_mac: Option<String>,
    /// Its private address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ip: Option<String>,
    /// How it takes part in the fabric.
    pub fabric_claim_mode: FabricClaimMode,
    /// Where its fabric function is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_vf_pci_address: Option<String>,
    /// Its NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<i64>,
    /// What the host shows now that is not as approved; empty means nothing. A drifted slot is not for sale.
    pub drift: Vec<DriftView>,
    /// Who approved it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approved_by: String,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<Timestamp>,
    /// How many times it has been used.
    pub use_generation: i64,
    /// `clean`, or what is wrong.
    pub health_state: String,
    /// More about that.
    pub health_detail: String,
    /// What would end it, when there is no valid proof that the slot is clean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways_out: Vec<String>,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it came to be.
    pub created_at: Timestamp,
}

/// Which slots of the whole fleet.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotQuery {
    /// Only of nodes of this pool.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<PoolId>,
    /// Only in this state.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub state: Option<SlotState>,
    /// How many items at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<SlotPageSize>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<PageToken>,
}

paged!(SlotQuery);

/// A slot as one cell of a map of the fleet: little enough that thousands fit in a few pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotCellView {
    /// Its id.
    pub id: SlotId,
    /// Its node.
    pub node_id: NodeId,
    /// Its GPU's place on the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_module_id: Option<i64>,
    /// What its workflow is doing.
    pub execution: SlotState,
    /// Whether its host shows something else than what was approved; then it is not for sale.
    pub drifted: bool,
    /// Who holds it now, by itself or with its whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
}

/// One field of a slot that is not as approved any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriftView {
    /// Which field.
    pub field: String,
    /// What happened to it.
    pub kind: DriftKind,
    /// Whose word it is.
    pub said_by: SaidBy,
    /// As approved.
    pub approved: String,
    /// As the host shows it now.
    pub seen: String,
    /// The same in a sentence.
    pub detail: String,
    /// When it was first seen.
    pub first_seen_at: Timestamp,
    /// When it was last seen.
    pub last_seen_at: Timestamp,
}

/// An exclusive right to a slot or node, active or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimView {
    /// Its id.
    pub id: ClaimId,
    /// Who holds it.
    pub allocation_id: AllocationId,
    /// The node.
    pub node_id: NodeId,
    /// The slot, unless it is for the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_id: Option<SlotId>,
    /// What it covers.
    pub kind: ClaimKind,
    /// The use of the slot it stands for.
    pub fence: i64,
    /// Since when.
    pub claimed_at: Timestamp,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Timestamp>,
}

/// An order to a node's agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// The node.
    pub node_id: NodeId,
    /// The allocation it serves; none when it is about the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
    /// What to do.
    pub kind: TaskKind,
    /// Which try.
    pub attempt: i64,
    /// Where it stands.
    pub execution: TaskState,
    /// One sentence.
    pub projected: String,
    /// Why it could not be done, as a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TaskFailure>,
    /// The same as the host put it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure_detail: String,
    /// What stood against it, check by check, when it was refused before anything was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// When the control plane stops waiting.
    pub deadline: Timestamp,
    /// How far the workflow has come.
    pub progress: ProgressView,
    /// When it was written down.
    pub created_at: Timestamp,
}

endpoints! {
    /// List nodes.
    NodeList = "node_list", Get "/api/v1/admin/nodes", "nodes", PlatformRead { query: PageQuery, answer: Ok Page<NodeView>, problems: [InvalidPageToken] }
    /// Show a node.
    NodeShow = "node_show", Get "/api/v1/admin/nodes/{node_id}", "nodes", PlatformRead { path: NodePath, answer: Ok NodeView }
    /// List a node's slots.
    SlotList = "slot_list", Get "/api/v1/admin/nodes/{node_id}/resource-slots", "nodes", PlatformRead { path: NodePath, query: PageQuery, answer: Ok Page<SlotView>, problems: [InvalidPageToken] }
    /// List the claims on a node, ended ones too.
    ClaimList = "claim_list", Get "/api/v1/admin/nodes/{node_id}/claims", "nodes", PlatformRead { path: NodePath, query: PageQuery, answer: Ok Page<ClaimView>, problems: [InvalidPageToken] }
    /// List the orders to a node's agent.
    TaskList = "task_list", Get "/api/v1/admin/nodes/{node_id}/tasks", "nodes", PlatformRead { path: NodePath, query: PageQuery, answer: Ok Page<TaskView>, problems: [InvalidPageToken] }
}
