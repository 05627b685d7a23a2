//! Tasks: bounded, typed, fenced orders to a node agent. A closed list; there is no free-form command.

use crate::{AllocationId, NodeId, SlotId, TaskId, Timestamp, proof::Proof};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes an order newer than another for the same slot. Compared field by field: a restored backup raises
/// `incarnation`, each new use of a slot raises `generation`, each repeat of an order raises `attempt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// Of the store: raised when a backup is restored.
    pub incarnation: i64,
    /// Of the slot: raised in the transaction that claims it.
    pub generation: i64,
    /// Of the order.
    pub attempt: i64,
}

text_enum! {
    /// The closed list of orders.
    TaskKind {
        /// Start a guest on slots.
        SliceVmProvision = "slice.vm_provision",
        /// Stop the guest, wipe the slots, prove it.
        SliceVmRelease = "slice.vm_release",
        /// Say what the host has.
        SliceTopologyDiscover = "slice.topology_discover",
        /// Say whether the host is ready for slices, and what is missing.
        NodeReadiness = "node.readiness",
    }
}

text_enum! {
    /// Where an order stands.
    TaskState {
        /// Written down; the agent has not fetched it.
        Pending = "pending",
        /// The agent has it.
        Delivered = "delivered",
        /// The agent answered that it is done.
        Succeeded = "succeeded",
        /// The agent answered that it could not.
        Failed = "failed",
        /// No answer before the deadline, or a newer attempt replaced it.
        Expired = "expired",
    }
}

impl TaskState {
    /// Whether nothing more will happen.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Expired)
    }
}

/// One slot of an order, with the fence that guards it and the challenge its wipe proof must answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSlot {
    /// The slot.
    pub slot_id: SlotId,
    /// The use of the slot that the order belongs to.
    pub use_generation: i64,
    /// The challenge for the wipe proof; present on release orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// What an order about a guest is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestOrder {
    /// The allocation it serves.
    pub allocation_id: AllocationId,
    /// The slots it touches.
    pub slots: Vec<TaskSlot>,
}

/// What to do, with all that is needed for it. There is no free-form field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum TaskInput {
    /// Start a guest on slots.
    #[serde(rename = "slice.vm_provision")]
    SliceVmProvision(GuestOrder),
    /// Stop the guest, wipe the slots, prove it.
    #[serde(rename = "slice.vm_release")]
    SliceVmRelease(GuestOrder),
    /// Say what the host has.
    #[serde(rename = "slice.topology_discover")]
    SliceTopologyDiscover {},
    /// Say whether the host is ready for slices, and what is missing.
    #[serde(rename = "node.readiness")]
    NodeReadiness {},
}

impl TaskInput {
    /// Its place in the closed list.
    pub const fn kind(&self) -> TaskKind {
        match self {
            Self::SliceVmProvision(_) => TaskKind::SliceVmProvision,
            Self::SliceVmRelease(_) => TaskKind::SliceVmRelease,
            Self::SliceTopologyDiscover {} => TaskKind::SliceTopologyDiscover,
            Self::NodeReadiness {} => TaskKind::NodeReadiness,
        }
    }

    /// The guest it is about; none when it is about the host itself.
    pub const fn guest(&self) -> Option<&GuestOrder> {
        match self {
            Self::SliceVmProvision(order) | Self::SliceVmRelease(order) => Some(order),
            Self::SliceTopologyDiscover {} | Self::NodeReadiness {} => None,
        }
    }
}

/// An order as the agent receives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The order's id; the same on every delivery.
    pub id: TaskId,
    /// The node it is for.
    pub node_id: NodeId,
    /// What to do.
    pub input: TaskInput,
    /// Older than what the agent already did for one of its slots, or for the host itself: refused.
    pub fence: Fence,
    /// After this the control plane no longer waits.
    pub deadline: Timestamp,
}

impl Task {
    /// What kind of order it is.
    pub const fn kind(&self) -> TaskKind {
        self.input.kind()
    }

    /// The slots it touches; none when it is about the host itself.
    pub fn slots(&self) -> &[TaskSlot] {
        self.input.guest().map_or(&[], |order| &order.slots)
    }
}

text_enum! {
    /// Why an agent could not do what it was asked.
    TaskFailure {
        /// A newer order for one of the slots was already taken.
        StaleFence = "stale_fence",
        /// The order names another node.
        WrongNode = "wrong_node",
        /// The agent does not know this kind of order.
        UnknownKind = "unknown_kind",
        /// The host could not be looked at.
        NotReadable = "not_readable",
        /// The control plane did not take what the agent reported.
        ReportRefused = "report_refused",
        /// The host could not start the guest.
        ProvisionFailed = "provision_failed",
        /// The guest could not be proved gone.
        GuestNotGone = "guest_not_gone",
    }
}

/// What the agent answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskResult {
    /// The order.
    pub task_id: TaskId,
    /// The fence under which the work was done.
    pub fence: Fence,
    /// Absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TaskFailure>,
    /// One sentence for people when it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// For releases: one proof a slot, as far as they could be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
}
