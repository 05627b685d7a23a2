//! Tasks: bounded, typed, fenced orders to a node agent. A closed list; there is no free-form command.

use crate::{
    AllocationId, NodeId, SlotId, TaskId, Timestamp,
    guest::{GuestSpec, SlotBundle},
    image::ImageSpec,
    notice::{NoticeSeen, StopNotice},
    proof::Proof,
    runtime::{GuestSeen, Refusal},
};
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
        /// Tell a running guest that it will be stopped, and hear whether it is ready for that.
        SliceVmNotice = "slice.vm_notice",
        /// Say what a guest on these slots would get, or what stands against it; change nothing.
        SlicePlan = "slice.plan",
        /// Compare what is on the host with what is claimed there; repair, report or quarantine.
        SliceReconcile = "slice.reconcile",
        /// Fetch an image before it is needed.
        ImagePrefetch = "image.prefetch",
        /// Say what the host has.
        SliceTopologyDiscover = "slice.topology_discover",
        /// Say whether the host is ready for slices, and what is missing.
        NodeReadiness = "node.readiness",
        /// Hand the whole machine to a tenant, through its provider. Not for an agent.
        MachineDeploy = "machine.deploy",
        /// Take the whole machine back, through its provider, until its host is enrolled and looked at again. Not for an agent.
        MachineReclaim = "machine.reclaim",
    }
}

impl TaskKind {
    /// Whether the control plane itself carries it out, at the provider of the machine, because the host is a tenant's.
    pub const fn is_for_provider(self) -> bool {
        matches!(self, Self::MachineDeploy | Self::MachineReclaim)
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
    /// The devices and addresses that were approved for it. A real host does nothing without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Box<SlotBundle>>,
}

/// What an order about a guest is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestOrder {
    /// The allocation it serves.
    pub allocation_id: AllocationId,
    /// The slots it touches.
    pub slots: Vec<TaskSlot>,
    /// What the guest is made of; on orders to start one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestSpec>>,
    /// How many seconds the guest may take to stop in order before it is cut off; on orders to stop one that was told to go.
    /// The host's own time when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_s: Option<i64>,
}

/// What a guest is to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeOrder {
    /// The allocation whose guest it is.
    pub allocation_id: AllocationId,
    /// The slots it sits on.
    pub slots: Vec<TaskSlot>,
    /// When it will be stopped, and why.
    pub notice: StopNotice,
}

/// What an order about a whole machine is about. The order's id is the mark that its provider writes on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineOrder {
    /// The allocation it serves.
    pub allocation_id: AllocationId,
    /// The slots of the node, as they are in the hands of the allocation.
    pub slots: Vec<TaskSlot>,
    /// Who has the machine.
    pub provider: String,
    /// Its id there.
    pub machine_id: String,
    /// What the tenant gets; on orders to hand the machine over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Box<MachineTenant>>,
}

/// What a tenant gets on a machine of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineTenant {
    /// What the machine calls itself.
    pub host_name: String,
    /// The user that the keys open.
    pub user_name: String,
    /// Who may sign in, a public key on a line each.
    pub ssh_keys: Vec<String>,
    /// What the tenant wrote for cloud-init.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// The image of the platform's catalogue to install, which the provider has under the same name; the provider's usual one
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// Slots to plan for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanOrder {
    /// The slots, each once.
    pub slots: Vec<PlanSlot>,
}

/// One slot to plan for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanSlot {
    /// The slot.
    pub slot_id: SlotId,
    /// What was approved for it.
    pub bundle: SlotBundle,
}

/// Everything that is claimed on a node when the order is given. What the host has beyond it belongs to nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReconcileOrder {
    /// Who holds what.
    pub claims: Vec<ReconcileClaim>,
    /// The approved slots of the node, held or not: their devices are kept ready for guests.
    pub slots: Vec<PlanSlot>,
}

/// One allocation on the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReconcileClaim {
    /// The allocation.
    pub allocation_id: AllocationId,
    /// Its slots and which use of each it is.
    pub slots: Vec<TaskSlot>,
    /// Whether its guest should be up now. While it is being built or given back it need not.
    pub should_run: bool,
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
    /// Tell a running guest that it will be stopped. Ends when the guest says that it is ready, or when that time has come.
    #[serde(rename = "slice.vm_notice")]
    SliceVmNotice(NoticeOrder),
    /// Say what a guest on these slots would get, or what stands against it; change nothing.
    #[serde(rename = "slice.plan")]
    SlicePlan(PlanOrder),
    /// Compare what is on the host with what is claimed there; repair, report or quarantine.
    #[serde(rename = "slice.reconcile")]
    SliceReconcile(ReconcileOrder),
    /// Fetch an image before it is needed.
    #[serde(rename = "image.prefetch")]
    ImagePrefetch {
        /// The image.
        image: ImageSpec,
    },
    /// Say what the host has.
    #[serde(rename = "slice.topology_discover")]
    SliceTopologyDiscover {},
    /// Say whether the host is ready for slices, and what is missing.
    #[serde(rename = "node.readiness")]
    NodeReadiness {},
    /// Hand the whole machine to a tenant. Not for an agent.
    #[serde(rename = "machine.deploy")]
    MachineDeploy(MachineOrder),
    /// Take the whole machine back. Not for an agent.
    #[serde(rename = "machine.reclaim")]
    MachineReclaim(MachineOrder),
}

impl TaskInput {
    /// Its place in the closed list.
    pub const fn kind(&self) -> TaskKind {
        match self {
            Self::SliceVmProvision(_) => TaskKind::SliceVmProvision,
            Self::SliceVmRelease(_) => TaskKind::SliceVmRelease,
            Self::SliceVmNotice(_) => TaskKind::SliceVmNotice,
            Self::SlicePlan(_) => TaskKind::SlicePlan,
            Self::SliceReconcile(_) => TaskKind::SliceReconcile,
            Self::ImagePrefetch { .. } => TaskKind::ImagePrefetch,
            Self::SliceTopologyDiscover {} => TaskKind::SliceTopologyDiscover,
            Self::NodeReadiness {} => TaskKind::NodeReadiness,
            Self::MachineDeploy(_) => TaskKind::MachineDeploy,
            Self::MachineReclaim(_) => TaskKind::MachineReclaim,
        }
    }

    /// The machine it is about, when it is about a whole one.
    pub const fn machine(&self) -> Option<&MachineOrder> {
        match self {
            Self::MachineDeploy(order) | Self::MachineReclaim(order) => Some(order),
            _ => None,
        }
    }

    /// The allocation it serves; none when it is about the host itself.
    pub fn allocation_id(&self) -> Option<&AllocationId> {
        self.guest_held().map(|(id, _)| id).or_else(|| self.machine().map(|order| &order.allocation_id))
    }

    /// The slots it touches; none when it is about the host itself.
    pub fn slots(&self) -> &[TaskSlot] {
        self.guest_held().map(|(_, slots)| slots).or_else(|| self.machine().map(|order| &*order.slots)).unwrap_or(&[])
    }

    /// The guest it is about: whose it is, and what it sits on; none when it is about the host or the machine itself.
    pub fn guest_held(&self) -> Option<(&AllocationId, &[TaskSlot])> {
        let noticed = match self {
            Self::SliceVmNotice(order) => Some((&order.allocation_id, &*order.slots)),
            _ => None,
        };
        self.guest().map(|order| (&order.allocation_id, &*order.slots)).or(noticed)
    }

    /// What is changed of a guest; none when it is about something else, or changes nothing.
    pub const fn guest(&self) -> Option<&GuestOrder> {
        match self {
            Self::SliceVmProvision(order) | Self::SliceVmRelease(order) => Some(order),
            Self::SliceVmNotice(_)
            | Self::SlicePlan(_)
            | Self::SliceReconcile(_)
            | Self::ImagePrefetch { .. }
            | Self::SliceTopologyDiscover {}
            | Self::NodeReadiness {}
            | Self::MachineDeploy(_)
            | Self::MachineReclaim(_) => None,
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
        self.input.slots()
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
        /// The host is not as it was approved: nothing was made.
        PlanRefused = "plan_refused",
        /// The image could not be had or is not what its entry says.
        ImageRefused = "image_refused",
        /// The host could not start the guest.
        ProvisionFailed = "provision_failed",
        /// What is on the host could not be compared or put right.
        ReconcileFailed = "reconcile_failed",
        /// The guest could not be proved gone.
        GuestNotGone = "guest_not_gone",
        /// The guest could not be told anything.
        NoticeFailed = "notice_failed",
        /// The provider of the machine could not do it.
        MachineFailed = "machine_failed",
        /// The machine that came back is not the one that was approved.
        MachineDrifted = "machine_drifted",
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
    /// What stood against it, check by check, when it was refused before anything was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
    /// The guest that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestSeen>>,
    /// For notices: what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<NoticeSeen>,
    /// For releases: one proof a slot, as far as they could be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
}

impl TaskResult {
    /// That it was done.
    pub fn done(task: &Task) -> Self {
        Self {
            task_id: task.id.clone(),
            fence: task.fence,
            failure: None,
            detail: String::new(),
            refusals: vec![],
            guest: None,
            notice: None,
            proofs: vec![],
        }
    }

    /// That it was not.
    pub fn failed(task_id: TaskId, fence: Fence, failure: TaskFailure, detail: impl Into<String>) -> Self {
        Self {
            task_id,
            fence,
            failure: Some(failure),
            detail: detail.into(),
            refusals: vec![],
            guest: None,
            notice: None,
            proofs: vec![],
        }
    }
}
