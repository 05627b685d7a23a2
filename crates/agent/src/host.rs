//! The host as the agent reaches it: a few changes that can be made, and one question that can be asked.
//!
//! Every change comes with an [`Effect`] that says under which order and fence it is made. A host may log it (the
//! simulated one does, and checks that no effect comes twice and no fence ever goes down); it need not remember it.
//! A host that cannot tell whether something worked must answer with a fault: silence is never success.

use model::{AllocationId, SlotId, TaskId, proof::WipeStep, task::Fence};
use serde::{Deserialize, Serialize};
use topology::Tree;

/// One use of one slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SlotUse {
    /// The slot.
    pub slot_id: SlotId,
    /// Which use of it; the next tenant's is higher.
    pub use_generation: i64,
}

/// A guest, or what is left of one: listed from the moment anything of it exists until nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// The allocation it was started for.
    pub allocation_id: AllocationId,
    /// The slots it sits on, by slot id.
    pub slots: Vec<SlotUse>,
    /// Whether it was built to the end.
    pub ready: bool,
}

/// A change to the host that is journaled on its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Build and start the guest.
    Provision,
    /// Stop a guest that sits on the order's slots and remove what is left of it.
    StopGuest {
        /// Whose guest.
        allocation_id: AllocationId,
    },
    /// One step of wiping one slot.
    Wipe {
        /// The slot.
        slot_id: SlotId,
        /// The step.
        wipe: WipeStep,
    },
}

/// Why a change is made. `(task_id, step, turn)` never comes twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The order.
    pub task_id: TaskId,
    /// The allocation it serves.
    pub allocation_id: AllocationId,
    /// The order's fence; for each slot its generation is that slot's `use_generation`.
    pub fence: Fence,
    /// The slots the change touches, by slot id.
    pub slots: Vec<SlotUse>,
    /// The change.
    pub step: Step,
    /// 1, or higher when the agent was interrupted and cannot know whether the turn before had its effect.
    pub turn: u32,
}

impl Effect {
    /// The fence that guards one slot under this order.
    pub fn slot_fence(&self, slot: &SlotUse) -> Fence {
        Fence { generation: slot.use_generation, ..self.fence }
    }
}

/// Something on the host did not work, or could not be seen to work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct HostFault {
    /// One sentence for people.
    pub detail: String,
}

impl HostFault {
    /// A fault with its sentence.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into() }
    }
}

/// What both the real and the simulated host can do.
pub trait Host {
    /// Builds and starts a guest for `effect.allocation_id` on `effect.slots`. After `Ok` it is listed and ready; after a fault
    /// anything may be left of it, and a release cleans that up.
    fn provision(&mut self, effect: &Effect) -> Result<(), HostFault>;

    /// Stops this guest and removes what is left of it. After `Ok` it is not listed any more.
    fn stop_guest(&mut self, effect: &Effect, guest: &Guest) -> Result<(), HostFault>;

    /// Makes one step of wiping one slot and returns what was seen. An empty text is no evidence. Never called with
    /// [`WipeStep::GuestGone`]: that is read from [`Host::guests`].
    fn wipe_step(&mut self, effect: &Effect, slot: &SlotUse, step: WipeStep) -> Result<String, HostFault>;

    /// What the host shows of itself: read, never changed.
    fn capture(&self) -> Result<Tree, HostFault>;

    /// Every guest on the host.
    fn guests(&self) -> Result<Vec<Guest>, HostFault>;
}
